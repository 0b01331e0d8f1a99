"""A saved plan as files: its scenario, to plan again anywhere, and its report."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from planner.report import ReportError, save
from planner.store.kept import write_kept
from planner.store.plans import Store

SCENARIO, PLAN = "scenario", "plan"


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
    folder = folder.absolute()
    if folder.is_dir() and (foreign := {path.name for path in folder.iterdir()} - {SCENARIO, PLAN}):
        raise ReportError(f"{folder}: holds '{min(foreign)}': name a new or an empty folder")
    reports = save(document, folder / PLAN)
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{SCENARIO}-", dir=folder))
        path = write_kept(kept, fresh).relative_to(fresh.resolve())
        shutil.rmtree(folder / SCENARIO, ignore_errors=True)
        os.replace(fresh, folder / SCENARIO)
    except OSError as error:
        raise ReportError(f"{folder}: the scenario was not written: {error.strerror}") from error
    return [folder / SCENARIO / path, *reports]
