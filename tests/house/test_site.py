"""The documentation site, the container and what an assistant reads: nothing in them is out of date."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import everfleet
from benchmarks.site import llms, program
from benchmarks.site.mathematics import latex
from planner.cli.commands import parser

ROOT = Path(__file__).resolve().parents[2]


# The site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: strict, so that a link or a page that is lost is an error."""
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    made = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return out


@pytest.mark.package
@pytest.mark.slow
def test_the_site_has_every_page_and_needs_no_other_machine(site: Path) -> None:
    """Functions, tables, facts and equations are there; no page fetches anything from outside."""
    read = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")
    }
    fetched = re.compile(r"""(?:<(?:script|img|iframe)[^>]+src|<link[^>]+href)=["']?(https?:[^"'\s>]+)""")
    functions, facts = read["functions.html"], read["facts/grid.html"]
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}

    assert {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")} - {"README.html"} <= read.keys()
    assert [name for name in everfleet.__all__ if f'id="{name.lower()}"' not in functions] == []
    assert "purchases" in read["tables.html"]
    assert "price before the rebate" in read["tables.html"]
    assert re.search(r"<code>de\.intensity</code>.*?<td>0\.\d+</td><td>kgCO2e/kWh</td>", facts)
    assert read["the-program.html"].count("<math") > 40
    assert "```" not in read["the-program.html"]
    assert {"tables.html", "facts/grid.html", "glossary.html"} <= places
    assert [(name, fetched.findall(text)) for name, text in read.items() if fetched.search(text)] == []
    told = re.findall(r"\]\((\S+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(told) > 35
    assert [link for link in told if not (site / link).is_file()] == []


def test_the_program_page_is_what_the_docstrings_say() -> None:
    """Write it again by `python -m benchmarks.site.program`."""
    assert program.PAGE.read_text(encoding="utf-8") == program.page()


def test_llms_is_what_the_product_offers() -> None:
    """Write it again by `python -m benchmarks.site.llms`."""
    assert llms.PAGE.read_text(encoding="utf-8") == llms.page()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sum_r run[r] <= count[j]", r"\sum_{r} \mathrm{run}_{r} \le \mathrm{count}_{j}"),
        ("n[p,t] = n[p,t-1] + unit[p] * order[p,t-lead[p]]",
         r"n_{p , t} = n_{p , t - 1} + \mathrm{unit}_{p} \cdot \mathrm{order}_{p , t - \mathrm{lead}_{p}}"),
        ("rented[p,t] = sum over t' from t - 1 to t of commit[p,t']",
         r"\mathrm{rented}_{p , t} = \sum_{t'=t - 1}^{t} \mathrm{commit}_{p , t'}"),
        ("x[t] <= power_kw[s] + give, over the sites s",
         r"x_{t} \le \mathrm{power\_kw}_{s} + \mathrm{give} , \text{ over the sites s }"),
    ],
)  # fmt: skip
def test_an_inequality_becomes_mathematics(text: str, wanted: str) -> None:
    assert latex(text) == wanted


def test_a_sign_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="is no part of an inequality"):
        latex("a[t] % 2 = 0")


# The container


def dockerfile() -> list[tuple[str, str]]:
    """Each instruction with what it says, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_dockerfile_copies_what_is_there_and_all_that_is_packaged() -> None:
    """Each copied path exists, `.dockerignore` lets it through, and every package is among them."""
    copied = [
        name
        for word, rest in dockerfile()
        if word == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    ]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    packages = re.search(r"^packages = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

    assert packages is not None
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert set(copied) == let_through
    assert set(json.loads(packages[1])) <= set(copied)
    assert {"data", "app.py", ".streamlit", "requirements.lock", "pyproject.toml"} <= set(copied)


def test_the_container_runs_commands_of_ours_without_rights() -> None:
    """The command and its options are known, libraries have hashes, the user is not root."""
    said = dict(dockerfile())
    installs = [rest for word, rest in dockerfile() if word == "RUN" and "pip install" in rest]
    command = [*json.loads(said["ENTRYPOINT"]), *json.loads(said["CMD"])]
    options = parser().parse_args(command[1:])

    assert command[0] == "everfleet"
    assert (options.host, options.port) == ("0.0.0.0", int(said["EXPOSE"]))
    assert all("--require-hashes" in each or "--no-deps" in each for each in installs)
    assert len(installs) == 2
    assert said["USER"] not in ("root", "0")
    assert f":{said['EXPOSE']}/_stcore/health" in said["HEALTHCHECK"]
    assert "pg8000==" in (ROOT / "requirements.lock").read_text(encoding="utf-8"), (
        "PostgreSQL needs its driver"
    )


def test_compose_serves_this_machine_and_keeps_no_secret() -> None:
    """Ports of this machine alone; passwords come from outside; each service says whether it is well."""
    yaml = pytest.importorskip("yaml")
    held = yaml.safe_load((ROOT / "compose.yml").read_text(encoding="utf-8"))["services"]
    api = parser().parse_args(held["api"]["command"])
    ports = [port for one in held.values() for port in one.get("ports", [])]
    secrets = [
        value
        for one in held.values()
        for name, value in one["environment"].items()
        if re.search("PASSWORD|TOKEN|STORE", name)
    ]

    assert set(held) == {"app", "api", "database"}
    assert (api.host, api.port) == ("0.0.0.0", 8600)
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert len(secrets) == 4
    assert all(re.search(r"\$\{EVERFLEET_\w+:\?", value) for value in secrets)
    assert "healthcheck" in held["api"]
    assert "healthcheck" in held["database"]


def test_commands_of_the_container_page_are_known() -> None:
    """What stands behind the image's name is a command of ours."""
    page = (ROOT / "docs" / "container.md").read_text(encoding="utf-8")
    runs = re.findall(r"docker run .* everfleet (\w.*)$", page, flags=re.MULTILINE)

    assert runs
    for run in runs:
        parser().parse_args(shlex.split(run))


# The paths by role


def test_every_role_has_a_path_on_the_first_page() -> None:
    start = (ROOT / "docs" / "README.md").read_text(encoding="utf-8").partition("## All pages")[0]
    roles = {path.name for path in (ROOT / "docs").glob("for-*.md")}

    assert len(roles) == 3
    assert [role for role in roles if f"({role})" not in start] == []
