"""A scenario with all that it stands on: its text and the files that it names, to plan from anywhere."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from planner.inputs.files import read_limited
from planner.inputs.models.cards import is_card
from planner.inputs.scenario import (
    Reading,
    Scenario,
    canonical_text,
    digest,
    load_scenario,
    parse_scenario,
    read_scenario,
)
from planner.trace.errors import InputError


@dataclass(frozen=True, slots=True)
class KeptScenario:
    """A scenario as plain content; `name` is that of its file, empty where it came from none.

    The digest is that of the scenario; where it names files, of it and of their content.
    """

    digest: str
    title: str
    name: str
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)


def unsaved(
    name: str, text: str, files: Mapping[str, bytes] | Iterable[tuple[str, bytes]] = ()
) -> KeptScenario:
    """A scenario as content that no store has seen: without identity and title."""
    return KeptScenario("", "", name, text, dict(files))


def keep(scenario: Scenario) -> KeptScenario:
    """What has to be kept of a scenario: its text as written where that still says the same.

    Raises:
        InputError: a file that it names cannot be read, or lies at a path of this machine alone.
    """
    files = {name: _content(scenario, name) for name in named_files(scenario)}
    identity = digest(scenario)
    if files:
        lines = [identity, *(f"{name} {hashlib.sha256(held).hexdigest()}" for name, held in files.items())]
        identity = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    name = scenario.path.name if scenario.path else ""
    return KeptScenario(identity, scenario.title, name, _text(scenario), files)


def named_files(scenario: Scenario) -> tuple[str, ...]:
    """Files next to the scenario that it names: models, a log, a calibration, hours, traces, tables."""
    used = [job.model for job in scenario.training] + [pool.model for pool in scenario.pools]
    used += [service.model for service in scenario.services]
    names = {name for name in used if is_card(name)}
    names |= {scenario.reliability.log or "", scenario.performance.calibration or ""}
    names |= set(scenario.files_of_rows)
    folder = scenario.path.parent if scenario.path else Path()
    tables = [job.tables for job in scenario.training] + [one.tables for one in scenario.services]
    listed = {name for part in tables if part is not None for name in (part.file, part.reuse) if name}
    names |= {name for name in listed if (folder / name).is_file()}  # others are shipped
    if scenario.data is not None and scenario.own is not None:
        names |= {(PurePosixPath(scenario.data).parent / file).as_posix() for file in scenario.own.files}
    return tuple(sorted(names - {""}))


@contextmanager
def restored(kept: KeptScenario) -> Iterator[Scenario]:
    """The scenario, in a folder of its own for as long as it is planned.

    Raises:
        ScenarioError: this everfleet does not take it.
        InputError: a name in it leads out of its folder.
    """
    if not kept.name:
        yield parse_scenario(kept.text)
        return
    with _written(kept) as path:
        yield load_scenario(path)


@contextmanager
def read_kept(kept: KeptScenario) -> Iterator[Reading]:
    """The scenario as far as it can be read, in a folder of its own.

    Raises:
        ScenarioError: its text is no TOML.
        InputError: a name in it leads out of its folder.
    """
    with _written(kept) as path:
        yield read_scenario(path)


@contextmanager
def _written(kept: KeptScenario) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        yield write_kept(kept, Path(folder))


def write_kept(kept: KeptScenario, folder: Path) -> Path:
    """Write a scenario and its files into `folder`, deep enough for names that go up; gives its path.

    Raises:
        InputError: a name in it leads out of the folder.
    """
    home = folder.joinpath(*(["scenario"] * max((_steps_up(name) for name in kept.files), default=0)))
    contents = {kept.name or "scenario.toml": kept.text.encode(), **kept.files}
    for name, content in contents.items():
        path = (home / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise InputError(f"'{name}' leads out of the folder of the scenario that names it")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return home / (kept.name or "scenario.toml")


def _steps_up(name: str) -> int:
    return PurePosixPath(name).parts.count("..")


def _content(scenario: Scenario, name: str) -> bytes:
    folder = scenario.path.parent if scenario.path else Path()
    if Path(name).is_absolute():
        raise InputError(
            f"'{name}' is a path of this machine alone: put the file into the folder of the scenario"
        )
    try:
        return read_limited(folder / name)
    except OSError as error:
        raise InputError(f"'{name}', which the scenario names, cannot be read: {error.strerror}") from None


def _text(scenario: Scenario) -> str:
    """The file with its comments, if it is unchanged; else the canonical text."""
    if scenario.path is not None:
        try:
            if load_scenario(scenario.path) == scenario:
                return scenario.path.read_text(encoding="utf-8-sig")
        except (InputError, OSError):  # gone or edited since: what was read is what counts
            pass
    return canonical_text(scenario)
