"""The site's own part of MkDocs: pages that are made at the build, and links that leave `docs/`.

What a page links to outside of `docs/` is part of the site, too, below `checkout/`: READMEs as pages, other
files as they are. Mathematics becomes MathML, which browsers draw without a library.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from benchmarks.site import pages

ROOT = Path(__file__).resolve().parents[2]
MIRROR = "checkout"
LONG = (
    100  # characters of an equation that may be wider than a page, and is reached by the keyboard to scroll
)
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)((?:#[^)\s]*)?\))")
_MATHS = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_LETTERS = re.compile(r'<mrow>((?:<mi mathvariant="normal">[^<]+</mi>)+)</mrow>')
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here, and what pages link to outside of `docs/`."""
    for place, text in pages.made().items():
        files.append(File.generated(config, place, content=text))
    listed = files.get_file_from_path("llms.txt")
    if listed is not None:
        files.remove(listed)
        files.append(File.generated(config, "llms.txt", content=_for_assistants()))
    waiting = [path for path in sorted((ROOT / "docs").glob("*.md"))] + [
        ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md")
    ]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        place = site_place(path.relative_to(ROOT).as_posix())
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(path)))
        if path.suffix == ".md":
            text = _CODE.sub("", path.read_text(encoding="utf-8"))
            waiting += filter(Path.is_file, (target(path, found) for _, found, _ in _LINK.findall(text)))
    return files


def on_page_content(content: str, page: Page, config: Any, files: Files) -> str:
    """Facts break inside of a name where they must, so that their tables fit."""
    return f'<div class="facts">{content}</div>' if page.file.src_uri.startswith("facts/") else content


def on_post_page(output: str, page: Page, config: Any) -> str:
    """The dialog of the theme's search is named for who cannot see it."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Lead links to where their targets are in the site, and draw mathematics."""
    place = page.file.src_uri
    inside, mirrored = place.removeprefix(f"{MIRROR}/"), place.startswith(f"{MIRROR}/")
    origin = ROOT / (inside if mirrored else f"docs/{place}")

    def led(found: re.Match[str]) -> str:
        path = target(origin, found[2])
        if not path.is_relative_to(ROOT) or not path.is_file():
            return found[0]
        there = site_place(path.relative_to(ROOT).as_posix())
        return f"{found[1]}{posixpath.relpath(there, posixpath.dirname(place) or '.')}{found[3]}"

    return _MATHS.sub(lambda found: mathml(found[1]), _LINK.sub(led, markdown))


def _for_assistants() -> str:
    """`llms.txt` with the addresses that pages have in the site."""
    origin = ROOT / "docs" / "llms.txt"

    def led(found: re.Match[str]) -> str:
        place = site_place(target(origin, found[2]).relative_to(ROOT).as_posix())
        page = re.sub(r"(README)?\.md$", lambda end: "index.html" if end[1] else ".html", place)
        return f"{found[1]}{page}{found[3]}"

    return _LINK.sub(led, origin.read_text(encoding="utf-8"))


def target(origin: Path, link: str) -> Path:
    """The file that a link of a page means; of a folder its README."""
    path = Path(posixpath.normpath((origin.parent / link).as_posix()))
    return path / "README.md" if path.is_dir() else path


def site_place(name: str) -> str:
    """Where a file of the checkout is in the site."""
    return name.removeprefix("docs/") if name.startswith("docs/") else f"{MIRROR}/{name}"


def mathml(latex: str) -> str:
    """An equation as MathML, each name one word, with its LaTeX for whoever copies it."""
    drawn = convert(latex, display="block")
    drawn = _LETTERS.sub(lambda found: f"<mi>{re.sub('<[^>]+>', '', found[1])}</mi>", drawn)
    scrolls = ' tabindex="0"' if len(latex) > LONG else ""
    return f'<div class="equation" title="{html.escape(latex)}"{scrolls}>{drawn}</div>'
