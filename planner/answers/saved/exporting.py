"""A saved plan as files: its scenario, to plan again anywhere, and its report."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from planner.answers.futures.page import save_futures
from planner.inputs.scenario.bundle import KeptScenario, write_kept
from planner.report.saving import ReportError, save
from planner.store.store import Store

SCENARIO, PLAN, FUTURES = "scenario", "plan", "futures"


def export_plan(store: Store, digest: str, folder: Path) -> list[Path]:
    """Write `scenario/` with the TOML and what it names, and `plan/` with plan.json and the report.

    Raises:
        ReportError: the folder cannot be written, or holds what is none of ours.
        StoreError: there is no such plan.
    """
    saved = store.plan(digest)
    document = store.document(saved.digest)
    kept = store.scenario(saved.scenario)
    kept = replace(kept, name=document["scenario"] or kept.name)
    return _export(kept, folder, PLAN, lambda place: save(document, place))


def export_futures(store: Store, digest: str, folder: Path) -> list[Path]:
    """Write `scenario/`, and `futures/` with futures.json and the report of a plan for several futures.

    Raises:
        ReportError: the folder cannot be written, or holds what is none of ours.
        StoreError: there is no such plan.
    """
    saved = store.futures.plan(digest)
    document = store.futures.document(saved.digest)
    kept = store.scenario(saved.scenario)
    return _export(kept, folder, FUTURES, lambda place: save_futures(document, place))


def _export(kept: KeptScenario, folder: Path, report: str, write: Callable[[Path], list[Path]]) -> list[Path]:
    """A scenario and its report side by side; a folder with anything else in it is not touched."""
    folder = folder.absolute()
    if folder.is_dir() and (foreign := {path.name for path in folder.iterdir()} - {SCENARIO, report}):
        raise ReportError(f"{folder}: holds '{min(foreign)}': name a new or an empty folder")
    reports = write(folder / report)
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{SCENARIO}-", dir=folder))
        path = write_kept(kept, fresh).relative_to(fresh.resolve())
        shutil.rmtree(folder / SCENARIO, ignore_errors=True)
        os.replace(fresh, folder / SCENARIO)
    except OSError as error:
        raise ReportError(f"{folder}: the scenario was not written: {error.strerror}") from error
    return [folder / SCENARIO / path, *reports]
