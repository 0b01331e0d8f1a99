"""Facts of one's own that somebody brings to a page: one TOML file, rows as CSV, or a folder as a zip."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from planner.inputs.catalogue import OwnFacts
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.own.facts import LARGEST_BYTES, MOST_FILES
from planner.inputs.own.reading import read_own
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

FOLDER = "my-facts"


def laid_out(name: str, content: bytes) -> tuple[str, dict[str, bytes]]:
    """What `data` of the scenario names, and the files to lie next to it.

    Raises:
        InputError: it is none of the three, or a zip that is damaged, too large or leads elsewhere.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".toml":
        return f"{FOLDER}.toml", {f"{FOLDER}.toml": content}
    if suffix == ".csv":
        return FOLDER, {f"{FOLDER}/facts.csv": content}
    if suffix == ".zip":
        return FOLDER, {f"{FOLDER}/{inside}": held for inside, held in _unpacked(name, content).items()}
    raise InputError(f"{name}: bring a TOML file, rows as CSV, or a folder of facts as a zip")


def own_among(data: str, files: Mapping[str, bytes]) -> OwnFacts:
    """The facts among the files next to a scenario, of which its `data` names the folder or the file.

    Raises:
        OwnDataError: everything that is wrong with them.
    """
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        for name, content in files.items():
            path = (Path(folder) / name).resolve()
            if path.is_relative_to(Path(folder).resolve()):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return read_own(Path(folder, data), load_catalogue(data_folder()))


def without_own(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files next to a scenario without those of facts that were brought before."""
    return {
        name: held
        for name, held in files.items()
        if name != f"{FOLDER}.toml" and not name.startswith(f"{FOLDER}/")
    }


def _unpacked(name: str, content: bytes) -> dict[str, bytes]:
    """The files of a zip; where all lie in one folder that is no part of the format, that is left out."""
    found: dict[str, bytes] = {}
    left = LARGEST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            entries = [one for one in packed.infolist() if not one.is_dir() and not _hidden(one.filename)]
            if len(entries) > MOST_FILES:
                raise InputError(f"{name}: holds more than {count_text(MOST_FILES)} files")
            for entry in entries:
                inside = PurePosixPath(entry.filename.replace("\\", "/"))
                if inside.is_absolute() or ".." in inside.parts:
                    raise InputError(f"{name}: '{entry.filename}' leads out of its folder")
                with packed.open(entry) as file:
                    held = file.read(left + 1)
                left -= len(held)
                if left < 0:
                    raise InputError(f"{name}: holds more than {LARGEST_BYTES // 1_000_000} MB")
                found[inside.as_posix()] = held
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise InputError(f"{name}: cannot be read as a zip: {error}") from None
    tops = {PurePosixPath(inside).parts[0] for inside in found if len(PurePosixPath(inside).parts) > 1}
    alone = len(tops) == 1 and all("/" in inside for inside in found)
    if alone and not tops & {"facts", "models", "series"}:
        (top,) = tops
        return {inside.removeprefix(f"{top}/"): held for inside, held in found.items()}
    return found


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part != ".." for part in PurePosixPath(name).parts)
