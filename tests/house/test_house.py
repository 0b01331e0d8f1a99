"""The house: what is packaged, locked, imported, allowed and documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import everfleet
import planner
import planner.notebook

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("planner", "carbon", "reliability", "solver")
DOOR = "everfleet.py"  # what a notebook imports
LOCKS = ("requirements.lock", "requirements-test.lock")


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)


def kept_files() -> list[str]:
    """What a commit of this tree holds: tracked, or new and not ignored."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard")
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def kept_texts() -> Iterator[tuple[str, str]]:
    for name in kept_files():
        content = (ROOT / name).read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8")


def top_level_imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


# Rooms


@pytest.mark.slow
def test_rooms_import_from_below() -> None:
    """The contracts of `tool.importlinter` hold: no room imports sideways or from above, no library leaks."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    linted = run(sys.executable, "-c", command, "--no-cache")

    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_every_room_has_its_place() -> None:
    """A module that the layers do not name would be free to import anything."""
    layers = next(c["layers"] for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    placed = set(re.findall(r"planner\.(\w+)", " ".join(layers)))
    present = {path.stem for path in (ROOT / "planner").iterdir() if path.suffix == ".py"}
    present |= {path.parent.name for path in (ROOT / "planner").glob("*/__init__.py")}

    assert present - {"__init__"} <= placed


def test_app_only_routes() -> None:
    """`app.py` lies outside the packages, so the contracts do not see it."""
    names = top_level_imports(ast.parse((ROOT / "app.py").read_text(encoding="utf-8")))

    assert names <= {"__future__", "pathlib", "streamlit", "planner"}


def test_the_door_of_python_only_names() -> None:
    """`everfleet.py` lies outside the packages, too: it hands on all that `planner.notebook` offers."""
    tree = ast.parse((ROOT / DOOR).read_text(encoding="utf-8"))
    imports = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]

    assert imports == ["planner.notebook"] * 2
    assert everfleet.__all__ == planner.notebook.__all__
    assert len(tree.body) == 3, "a docstring, the names and their list"


def test_help_stays_quick() -> None:
    """`--help` loads none of the libraries that take a noticeable time to load."""
    script = (
        "import sys\n"
        "from planner.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as leaving:\n    assert not leaving.code\n"
        "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    helped = run(sys.executable, "-c", script)
    loaded = set(helped.stdout.rpartition("LOADED")[2].split())

    assert helped.returncode == 0, helped.stderr
    assert "argparse" in loaded
    assert not loaded & {"altair", "lifelines", "pandas", "pint", "pulp", "pydantic", "scipy", "streamlit"}


OPEN_EVERY_NAME = """
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType

wrong, opened = [], 0
for top in map(import_module, ("planner", "carbon", "reliability", "solver")):
    inside = [found.name for found in walk_packages(top.__path__, f"{top.__name__}.") if found.ispkg]
    for room in map(import_module, (top.__name__, *inside)):
        offered = getattr(room, "__all__", ())
        for below in {found.name for found in iter_modules(room.__path__)}.intersection(offered):
            import_module(f"{room.__name__}.{below}")  # by which Python puts the module under its name
        opened += len(offered)
        wrong += [f"{room.__name__}.{name}" for name in offered
                  if isinstance(getattr(room, name, room), ModuleType)]
print(opened, *wrong)
"""


@pytest.mark.slow
def test_every_name_that_a_room_offers_can_be_had() -> None:
    """In a fresh process, after the modules inside; a module of the same name would stand before it."""
    opened = run(sys.executable, "-c", OPEN_EVERY_NAME)
    count, *wrong = opened.stdout.split() or [0]

    assert opened.returncode == 0, opened.stderr
    assert not wrong
    assert int(count) > 200


USE_EVERY_PUBLIC_NAME = """
from planner import derive, explain, load_catalogue, load_scenario, plan_fleet, recompute
from planner.trace.quantities import chosen
from carbon.pue import facility_energy_kwh

catalogue = load_catalogue()
plan = plan_fleet(load_scenario("tests/own_scenario.toml"), catalogue=catalogue, baselines=False)
energy = derive(facility_energy_kwh, it_energy_kwh=chosen("it_energy_kwh", 2.0, "told", "kWh"),
                pue=chosen("pue", 1.25, "told", "1"))
assert explain(energy).steps[0].value == energy.value == recompute([energy], {})[0] == 2.5
assert explain(plan.ledger.cost).steps[0].value == plan.ledger.cost.value > 0
print(*sorted(dir()))
"""


@pytest.mark.slow
def test_every_public_name_does_its_work() -> None:
    """2 kWh at a PUE of 1.25 are 2.5 kWh; the cost of a small plan opens to itself."""
    used = run(sys.executable, "-c", USE_EVERY_PUBLIC_NAME)

    assert used.returncode == 0, used.stderr
    assert set(planner.__all__) <= set(used.stdout.split())


# Packages


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, an editable wheel and a source archive, made without the network."""
    folder = tmp_path_factory.mktemp("dist")
    for target in ("wheel:standard", "wheel:editable", "sdist"):
        out = folder / target.replace(":", "-")
        made = run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out))
        assert made.returncode == 0, made.stdout + made.stderr
    return folder


def wheel_files(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def test_wheel_carries_data_and_app(built: Path) -> None:
    """An installed `everfleet` needs no checkout: same data, same app, same safe settings."""
    held = wheel_files(built / "wheel-standard")
    data = {name: (ROOT / name).read_bytes() for name in kept_files() if name.startswith("data/")}

    assert {name: held.get(name.replace("data/", "planner/_data/", 1)) for name in data} == data
    assert held["planner/_app.py"] == (ROOT / "app.py").read_bytes()
    assert held["planner/.streamlit/config.toml"] == (ROOT / ".streamlit/config.toml").read_bytes()
    assert {name.partition("/")[0] for name in held} == {*PACKAGES, DOOR, "everfleet-0.1.0.dist-info"}
    assert b"everfleet = planner.cli:main" in held["everfleet-0.1.0.dist-info/entry_points.txt"]
    assert {"everfleet-0.1.0.dist-info/licenses/" + name for name in ("LICENSE", "NOTICE")} <= held.keys()


def test_wheel_carries_every_module(built: Path) -> None:
    held = wheel_files(built / "wheel-standard")
    ours = {name for name in kept_files() if name.partition("/")[0] in (*PACKAGES, DOOR)}

    assert ours <= held.keys()


def test_editable_install_copies_nothing(built: Path) -> None:
    """A copy of the data inside an editable install would go stale and be read instead of the checkout's."""
    held = wheel_files(built / "wheel-editable")
    outside = {name for name in held if ".dist-info/" not in name}

    assert [Path(name).suffix for name in outside] == [".pth"]
    assert held[outside.pop()].decode().strip() == str(ROOT)


def test_source_archive_is_complete(built: Path) -> None:
    with tarfile.open(next((built / "sdist").glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}

    assert set(kept_files()) <= held


# Locks


def pins(name: str) -> dict[str, set[Version]]:
    found: dict[str, set[Version]] = {}
    text = (ROOT / name).read_text(encoding="utf-8")
    for project, version in re.findall(r"^([\w.-]+)==([^ \\;]+)", text, flags=re.MULTILINE):
        found.setdefault(canonicalize_name(project), set()).add(Version(version))
    return found


@pytest.mark.package
@pytest.mark.parametrize("name", LOCKS)
def test_each_pin_has_hashes_and_names_no_server(name: str) -> None:
    """Pip refuses a lock in part hashed; a server in it would be asked in place of the user's own."""
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[\w.-]+==)", text)[1:]

    assert len(entries) == sum(len(versions) for versions in pins(name).values()) > 20
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "//" not in text
    assert "index" not in text


@pytest.mark.package
def test_locks_agree_with_the_bounds_and_each_other() -> None:
    run_pins, test_pins = (pins(name) for name in LOCKS)
    wanted = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    tested = [Requirement(line) for line in PROJECT["project"]["optional-dependencies"]["test"]]

    assert run_pins.items() <= test_pins.items()
    for requirement, locked in [*((r, run_pins) for r in wanted), *((r, test_pins) for r in tested)]:
        versions = locked[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.package
def test_a_solver_that_lies_is_not_installed() -> None:
    """1.14.0 calls 15 the optimum where 9 is (`stuffing` in the self-test); 1.15 mended it."""
    wanted = {line.name: line.specifier for line in map(Requirement, PROJECT["project"]["dependencies"])}

    assert not wanted["highspy"].contains("1.14.0")
    assert wanted["highspy"].contains("1.13.1")
    assert wanted["highspy"].contains("1.15.1")


# Safety


def test_app_serves_this_machine_only() -> None:
    """Streamlit left to itself listens on every interface, trusts any host and sends statistics."""
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))

    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["allowedHosts"] == ["127.0.0.1", "localhost"]
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"]["showErrorDetails"] == "none"


@pytest.mark.slow
def test_no_file_names_a_machine() -> None:
    """No path of someone's computer and no package server: both hold on one machine only."""
    folder = r"(?<![\w.:/-])/(work|home|root|Users|tmp|opt|mnt)/|[A-Z]:\\Users"
    machine = re.compile(folder + r"|file:/{2}|--(extra-)?index-url|pypi\.org/simple|files\.pythonhosted")
    found = [
        f"{name}: {match.group()}"
        for name, text in kept_texts()
        if name != "tests/house/test_house.py"
        for match in machine.finditer(text)
    ]

    assert not found


# Documents


def test_readme_and_commands_agree() -> None:
    """The main commands are documented, and nothing is documented that does not exist."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"(?<!import )\beverfleet (?!--)([a-z]+)\b", " ".join(re.findall(r"`+[^`]*`+", readme)))
    )
    helped = run(sys.executable, "-m", "planner.cli", "--help").stdout
    commands = set(re.findall(r"^ {4}([a-z]+)\b", helped, flags=re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))

    assert {"plan", "carbon", "checkpoint", "app"} <= named <= commands
    assert {"plan", "test"} <= set(re.findall(r"\bmake ([a-z]+)\b", readme)) & targets
    assert set(re.findall(r"(?:^|`)make ([a-z]+)\b", readme, flags=re.MULTILINE)) <= targets


def test_versions_agree() -> None:
    version = PROJECT["project"]["version"]

    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)")


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link of every page, from the folder of the page."""
    pages = [name for name in kept_files() if name.endswith(".md")]
    links = [
        (name, target) for name in pages for target in LINK.findall((ROOT / name).read_text(encoding="utf-8"))
    ]

    assert len(pages) > 30
    assert len(links) > 50
    assert [each for each in links if not ((ROOT / each[0]).parent / each[1]).exists()] == []


def test_every_room_says_what_belongs_there() -> None:
    """One line of what belongs in a room and what does not, for who is new."""
    rooms = [path.parent for path in (ROOT / "planner").glob("*/__init__.py")]
    rooms += [path.parent for path in (ROOT / "planner" / "answers").glob("*/__init__.py")]
    silent = []
    for room in rooms:
        page = room / "README.md"
        said = page.read_text(encoding="utf-8") if page.is_file() else ""
        if "Belongs here: " not in said or "Does not: " not in said:
            silent.append(room.relative_to(ROOT).as_posix())

    assert len(rooms) == 24
    assert not silent
    assert len((ROOT / "planner" / "README.md").read_text(encoding="utf-8").splitlines()) < 50


def test_changelog_says_what_each_version_brought() -> None:
    """The newest version is the package's, with a day; what comes next has its headings ready."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    cut = re.findall(r"^## \[(\S+)\] - \d{4}-\d\d-\d\d$", text, flags=re.MULTILINE)
    coming = text.partition("\n## [Unreleased]\n")[2].partition("\n## [")[0]

    assert cut[0] == PROJECT["project"]["version"]
    assert re.findall(r"^### (\w+)$", coming, flags=re.MULTILINE) == ["Added", "Changed", "Fixed"]


def test_cases_of_the_night_are_cases() -> None:
    """A case that was renamed would come back by day, unseen: the function at least is in its file."""
    cases = (ROOT / "tests" / "night.txt").read_text(encoding="utf-8").splitlines()[1:]
    for file, function in {tuple(case.partition("[")[0].split("::")) for case in cases}:
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert cases == sorted(set(cases))
