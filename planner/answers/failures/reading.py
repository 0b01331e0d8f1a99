"""From a file of the user to a `FailureLog`: the mapping, the fleet, and what is to be counted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from planner.inputs.files import NO_FILE, may_never_end
from planner.trace.errors import InputError
from reliability.logs import (
    FailureLog,
    LogError,
    Mapping,
    mapping_text,
    propose_mapping,
    read_log,
    read_mapping,
)

KEPT_BAD_ROWS = 1_000


def proposed_mapping_text(path: Path) -> str:
    """The mapping that fits a log, as TOML to edit.

    Raises:
        InputError: the file cannot be read, or its shape is not known.
    """
    _refuse_folder(path)
    try:
        return mapping_text(propose_mapping(path))
    except LogError as error:
        raise InputError(str(error)) from None


def mapping_for(path: Path, mapping: Path | None) -> Mapping:
    """The mapping in a file, else the proposed one.

    Raises:
        InputError: every problem of the mapping or the log.
    """
    _refuse_folder(path)
    if mapping is not None and may_never_end(mapping):
        raise InputError(f"{mapping}: {NO_FILE}")
    try:
        return propose_mapping(path) if mapping is None else read_mapping(mapping)
    except LogError as error:
        raise InputError(str(error)) from None


def open_log(
    path: Path,
    mapping: Path | None = None,
    *,
    fleet_size: int | None = None,
    severities: Collection[str] = (),
    with_planned: bool = False,
) -> FailureLog:
    """The log in a file, read by the mapping in another, or by the one that fits it; as `read_failures`."""
    return read_failures(
        path,
        mapping_for(path, mapping),
        fleet_size=fleet_size,
        severities=severities,
        with_planned=with_planned,
    )


def read_failures(
    path: Path,
    mapping: Mapping,
    *,
    fleet_size: int | None = None,
    severities: Collection[str] = (),
    with_planned: bool = False,
) -> FailureLog:
    """The log, with only some severities where those are named, and planned stops as failures where asked.

    Raises:
        InputError: every problem of the log.
    """
    if with_planned:
        columns = {role: column for role, column in mapping.columns.items() if role != "planned"}
        mapping = replace(mapping, planned=(), columns=columns)
    try:
        log = read_log(path, mapping, fleet_size=fleet_size, keep_bad_rows=KEPT_BAD_ROWS)
        if not severities:
            return log
        # Dropped by the mapping, so that ages at the first failure and merged alarms follow, too.
        chosen = _counting_only(mapping, log, severities)
        return read_log(path, chosen, fleet_size=fleet_size, keep_bad_rows=KEPT_BAD_ROWS)
    except LogError as error:
        raise InputError(str(error)) from None


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name a log file in it")


def _counting_only(mapping: Mapping, log: FailureLog, severities: Collection[str]) -> Mapping:
    """The mapping with every other severity ignored."""
    held = sorted(set(log.events["severity"]))
    unknown = sorted(set(severities) - set(held))
    if unknown:
        raise InputError(
            f"{log.name}: no failure has severity {', '.join(unknown)}; there is {', '.join(held) or 'none'}"
        )
    others = {severity: "ignore" for severity in held if severity not in severities}
    renamed = {word: others.get(severity, severity) for word, severity in mapping.severity.items()}
    return replace(mapping, severity={**others, **renamed})
