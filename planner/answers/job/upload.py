"""A job whose files were passed in, not read from a disk: each is found by its name, and no other is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planner.answers.job.document import job_document
from planner.answers.job.places import place_document
from planner.inputs.catalogue import Catalogue
from planner.inputs.fits import is_fit
from planner.inputs.job.reading import read_job, with_defaults
from planner.inputs.job.schema import PHASES, TABLES, Job
from planner.inputs.loading import load_catalogue
from planner.inputs.metering import MeteredEnergy, read_metered
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.scenario.fields import CARD
from planner.inputs.scenario.files import read_toml, write_toml
from planner.inputs.scenario.problems import shown
from planner.inputs.series import shipped_series
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.records import Record

Files = Mapping[str, bytes]
LONGEST_NAME = 200  # bytes; what file systems take


def uploaded_document(
    text: str, name: str, files: Files, catalogue: Catalogue | None = None, *, own: bool = False
) -> Record:
    """The document of a job in a TOML text; the files that it names are those of `files`.

    Of an `own` job the text holds only what its owner stated: the command's defaults fill the rest.

    Raises:
        InputError: the text or a file of it is wrong, or it names a file that was not passed in.
    """
    with uploaded_job(text, name, files, catalogue, own=own) as job:
        return job_document(job, catalogue)


def uploaded_places(
    text: str, name: str, files: Files, catalogue: Catalogue | None = None, *, own: bool = False
) -> Record:
    """The same job elsewhere and at other times.

    Raises:
        InputError: as `uploaded_document`.
    """
    with uploaded_job(text, name, files, catalogue, own=own) as job:
        return place_document(job, catalogue)


def takes_long(text: str, name: str) -> bool:
    """Whether a job takes seconds to work out: one with a service that is predicted, for each draw anew.

    Raises:
        ScenarioError: the text is no TOML.
    """
    table = read_toml(text, name).get("inference")
    return isinstance(table, dict) and "model" in table


@contextmanager
def uploaded_job(
    text: str, name: str, files: Files, catalogue: Catalogue | None = None, *, own: bool = False
) -> Iterator[Job]:
    """The job, for as long as its files are needed; messages name files, never where they lay.

    Raises:
        InputError: the text is wrong, or it names a file that was not passed in.
    """
    facts = catalogue or load_catalogue()
    with _laid_out(text, name, files, facts if own else None) as (tables, assumed, path):
        yield read_job(tables, name, facts, path=path, assumed=assumed)


def whole_text(text: str, name: str, files: Files) -> str:
    """An own job as a job file that says all of it, the command's defaults too.

    Raises:
        InputError: as `uploaded_job`.
    """
    with _laid_out(text, name, files, load_catalogue()) as (tables, _, _):
        return write_toml(tables)


@contextmanager
def _laid_out(
    text: str, name: str, files: Files, own: Catalogue | None
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...], Path]]:
    """Tables, the places that a default filled, and where the job would lie, its files next to it.

    Of an `own` job what is not stated is filled from those facts.
    """
    tables: Mapping[str, Any] = read_toml(text, name)
    if problems := list(_strangers(tables, files)):
        raise ScenarioError(name, problems)
    with TemporaryDirectory(prefix="everfleet-") as folder:
        for file, content in files.items():
            if _is_plain(file):
                (Path(folder) / file).write_bytes(content)
        try:
            tables, assumed = with_defaults(tables, own, Path(folder)) if own else (tables, ())
            yield tables, assumed, Path(folder) / (name if _is_plain(name) else "job.toml")
        except InputError as error:
            if folder not in str(error):
                raise
            raise InputError(str(error).replace(f"{folder}/", "")) from None


def metered_seen(name: str, content: bytes, known: Mapping[str, Any]) -> MeteredEnergy:
    """What a metered file holds; `known` is what only its owner can say, as in `read_metered`.

    Raises:
        InputError: it is of no kind that can be read, or lacks what it does not say itself.
    """
    with TemporaryDirectory(prefix="everfleet-") as folder:
        path = Path(folder) / (name if _is_plain(name) else "metered")
        path.write_bytes(content)
        return read_metered(path, **known)


def job_rows(job: Job) -> list[Record]:
    """What was recognised in a job file: its phases and what it states of each."""
    rows = [{"part": "title", "states": job.title}]
    for section in TABLES:
        table = getattr(job, section)
        stated = [] if table is None else [name for name, value in table if value is not None]
        if (section in PHASES and table is not None) or stated:
            words = ", ".join(name.replace("_", " ") for name in stated)
            rows.append({"part": section.replace("_", " "), "states": words or "what the catalogue has"})
    return rows + [{"part": f"own value of {key}", "states": text} for key, text in job.facts.items()]


def metered_rows(seen: MeteredEnergy) -> list[Record]:
    """What was recognised in a metered file, in words."""
    accelerators = "not said" if seen.accelerators is None else str(seen.accelerators)
    hours = "not said" if seen.accelerator_h is None else f"{number_text(seen.accelerator_h)} h"
    stamps = [f"{stamp:%Y-%m-%d %H:%M}" for stamp in (seen.first, seen.last) if stamp is not None]
    rows = {
        "written by": seen.tool,
        "it saw": seen.seen,
        "energy, without PUE": f"{number_text(seen.it_kwh)} kWh",
        "accelerators": accelerators,
        "accelerator-hours": hours,
        "when": " to ".join(stamps) or "not said",
        "not metered in between": f"{number_text(seen.gaps_h, 3)} h, not counted",
    }
    return [{"property": label, "found": text} for label, text in rows.items()]


def _strangers(tables: Mapping[str, Any], files: Files) -> Iterator[Problem]:
    """Files that the tables name and nobody passed in."""
    for section in TABLES:
        table = tables.get(section)
        for key, value in table.items() if isinstance(table, dict) else ():
            if isinstance(value, str) and _names_file(key, value) and value not in files:
                held = f"; there are {', '.join(map(shown, files))}" if files else ""
                said = f"names the file {shown(value)}, which is not here: add it{held}"
                yield Problem(f"{section}.{key}", said)


def _names_file(key: str, value: str) -> bool:
    match key:
        case "metered" | "dataset":
            return True
        case "failures":
            return is_fit(value)
        case "hourly":
            return value not in shipped_series() and bool(Path(value).suffix)
        case "model":
            return CARD.fullmatch(value) is not None
        case _:
            return False


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in a folder, and leads nowhere else."""
    ordinary = name.isprintable() and not set(name) & set('/\\:*?"<>|') and name.strip(". ") != ""
    return ordinary and len(name.encode()) <= LONGEST_NAME
