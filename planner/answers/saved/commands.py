"""What the commands about saved plans answer: for each the data and the same in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from planner.answers.futures.page import futures_text
from planner.answers.opening import open_answer
from planner.answers.saved.compare import NO_INPUTS, Side, compare_sides, kept_side, saved_side
from planner.answers.saved.exporting import export_futures, export_plan
from planner.answers.saved.recompute import Repeat, recompute
from planner.inputs.scenario import Scenario
from planner.report import findings
from planner.report.shape import decision_lines
from planner.report.text import to_terminal
from planner.store.errors import StoreError
from planner.store.labels import Labels
from planner.store.store import Fit, SavedFuturesPlan, SavedPlan, Store, open_store
from planner.trace.currency import in_its_currency
from planner.trace.numbers import mass, money, percent_text, quantities_text
from planner.trace.records import Record
from planner.trace.units import everyday

Said = tuple[Any, str]
Saved = SavedPlan | Fit | SavedFuturesPlan
SHORT = 10  # characters of a digest that a list shows
MOST_LINES = 20


def save_plan(
    address: str | None,
    scenario: Scenario,
    document: Mapping[str, Any],
    *,
    baselines: bool,
    labels: Labels | None = None,
) -> str:
    """Save a plan that was just made; gives the line that says so."""
    store = open_store(address)
    digest = store.save_plan(scenario, document, baselines=baselines, labels=labels)
    return f"saved as {digest[:SHORT]} in {store.address}"


def label_saved(address: str | None, digest: str, labels: Labels, stated: frozenset[str]) -> Said:
    """A saved plan called otherwise in what is stated; the rest stays."""
    store = open_store(address)
    held = store.plan(digest)
    before = Labels(held.name, held.note, held.tags, held.owner)
    store.label_plan(held.digest, replace(before, **{name: getattr(labels, name) for name in stated}))
    found = store.plan(held.digest)
    return _record(found), _line(found)


def save_fit(address: str | None, document: Mapping[str, Any]) -> str:
    """Save the fit of a log; gives the line that says so."""
    store = open_store(address)
    return f"saved as {store.save_fit(document)[:SHORT]} in {store.address}"


def save_futures(address: str | None, scenario: Scenario, document: Mapping[str, Any]) -> str:
    """Save a plan for several futures; gives the line that says so."""
    store = open_store(address)
    return f"saved as {store.futures.save(scenario, document)[:SHORT]} in {store.address}"


def list_saved(address: str | None, *, title: str = "") -> Said:
    """Saved plans, fits and plans for several futures whose title or labels hold a text, the newest first."""
    store, text = open_store(address), title.casefold()
    fits = [fit for fit in store.fits() if text in fit.name.casefold()]
    futures = [plan for plan in store.futures.all() if text in plan.title.casefold()]
    every: list[Saved] = [*store.plans(title=title), *fits, *futures]
    held = sorted(every, key=lambda one: one.saved, reverse=True)
    return [_record(one) for one in held], "\n".join(map(_line, held)) or "nothing is saved"


def show_saved(address: str | None, digest: str) -> Said:
    """A saved plan, fit or plan for several futures as the command that made it printed it."""
    store = open_store(address)
    kind = _kind_of(store, digest)
    if kind == "fit":
        found = store.fit(digest)
        return found, findings.to_terminal(found)
    if kind == "futures":
        found = store.futures.document(digest)
        return found, futures_text(found)
    document = store.document(digest)
    return document, to_terminal(document)


def compare_saved(address: str | None, before: str, after: str) -> Said:
    """Two plans, saved or in a folder: what was asked and what came out differently."""
    kept = [open_answer(Path(named)) for named in (before, after)]
    store = open_store(address) if None in kept else None
    sides = [
        _side(store, named) if store is not None and document is None else kept_side(document or {})
        for named, document in zip((before, after), kept, strict=True)
    ]
    known = all(side.inputs for side in sides)
    if not known:
        sides = [replace(side, inputs={}) for side in sides]
    found = compare_sides(*sides)
    return found, "\n".join([compared_text(found), *([] if known else ["", NO_INPUTS])])


def _side(store: Store, named: str) -> Side:
    """A saved plan; what is none, is no folder or file of one either."""
    try:
        return saved_side(store, named)
    except StoreError as error:
        raise StoreError(f"{error}; there is no folder or file '{named}' of a plan, either") from error


@in_its_currency
def compared_text(found: Record) -> str:
    """Two plans that were compared, in words."""
    heads = [
        f"{which}  {plan['digest'][:SHORT]}  {plan['title']} ({plan['status']})"
        for which, plan in zip(("before", "after "), found["plans"], strict=True)
    ]
    parts = [_part(title, lines) for title, lines in compared_lines(found).items()]
    return "\n".join([*heads, *(list(filter(None, parts)) or ["", "nothing differs"])])


def compared_lines(found: Record) -> dict[str, list[str]]:
    """What differs between two plans, a line each, by what it is."""
    return {
        "inputs": [_change_line(row) for row in found["inputs"]],
        "files with other content": found["files"],
        "facts": [_change_line(row) for row in found["facts"]],
        "versions": [_change_line(row) for row in found["versions"]],
        "totals": [_total_line(row) for row in found["totals"] if row["difference"] != 0],
        "decisions": decision_lines(found),
    }


def export_saved(address: str | None, digest: str, folder: str) -> Said:
    """A saved plan, or one for several futures, as files: its scenario, its document and the report."""
    store = open_store(address)
    export = export_futures if _kind_of(store, digest) == "futures" else export_plan
    paths = export(store, digest, Path(folder))
    return [str(path) for path in paths], "\n".join(str(path) for path in paths)


def saved_or_written(address: str | None, named: str) -> Record:
    """The document of a plan: in a folder or a file, else saved, by the first characters of its digest.

    Raises:
        InputError: it is neither.
    """
    held = open_answer(Path(named))
    return open_store(address).document(named) if held is None else held


def recompute_saved(
    address: str | None, digest: str, *, futures: Callable[[Store, str], Repeat]
) -> tuple[Record, str]:
    """A saved plan worked out again from what is stored: is it the same, and what has changed since.

    `futures` does so for one for several futures: their room lies above this one.
    """
    store = open_store(address)
    repeat = (futures if _kind_of(store, digest) == "futures" else recompute)(store, digest)
    said = "the same to the last bit" if repeat.same else f"differs in {len(repeat.differences)} places"
    lines = [f"{row.path}: {_shown(row.before)} -> {_shown(row.after)}" for row in repeat.differences]
    parts = [
        f"{repeat.digest[:SHORT]}: {said}",
        _part("changed since", repeat.changed),
        _part("differences", lines),
    ]
    record = {
        "digest": repeat.digest,
        "same": repeat.same,
        "changed": list(repeat.changed),
        "differences": [asdict(row) for row in repeat.differences],
    }
    return record, "\n".join(filter(None, parts))


def _kind_of(store: Store, digest: str) -> str:
    """What begins so, plans first; a plan where nothing does."""
    held: dict[str, Sequence[Saved]] = {
        "plan": store.plans(),
        "fit": store.fits(),
        "futures": store.futures.all(),
    }
    kinds = (kind for kind, rows in held.items() if any(row.digest.startswith(digest) for row in rows))
    return next(kinds, "plan")


def _record(one: Saved) -> Record:
    if isinstance(one, Fit):
        return {"kind": "fit"} | asdict(one)
    record = {"kind": "futures"} | asdict(one) | {"versions": dict(one.versions)}
    return record | {"kind": "plan", "tags": list(one.tags)} if isinstance(one, SavedPlan) else record


def _line(one: Saved) -> str:
    head = f"{one.digest[:SHORT]}  {one.saved[:16].replace('T', ' ')}"
    if isinstance(one, Fit):
        return f"{head}  {'fit':<12}  {'':<26}  {one.name}"
    totals = "no plan"
    if isinstance(one, SavedFuturesPlan):
        totals = f"for {one.futures} futures" if one.futures else totals
    elif one.cost_usd is not None and one.carbon_kgco2e is not None:
        totals = f"{money(one.cost_usd)}, {mass(one.carbon_kgco2e)}"
    return f"{head}  {one.status:<12}  {totals:<26}  {_called(one)}"


def _called(one: SavedPlan | SavedFuturesPlan) -> str:
    """What a plan is called: its name before its title, its owner, its tags and its note."""
    if isinstance(one, SavedFuturesPlan):
        return one.title
    called = f"{one.name}: {one.title}" if one.name else one.title
    called += f", of {one.owner}" if one.owner else ""
    called += f" [{', '.join(one.tags)}]" if one.tags else ""
    return called + (f" ({' '.join(one.note.split())})" if one.note else "")


def _part(title: str, lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([f"\n{title}", *(f"  {line}" for line in [*lines[:MOST_LINES], *more])]) if lines else ""


def _change_line(row: Mapping[str, Any]) -> str:
    return f"{row['path']}: {_shown(row['before'])} -> {_shown(row['after'])}"


def _total_line(row: Mapping[str, Any]) -> str:
    was, now = quantities_text((row["before"], row["after"]), row["unit"])
    share = row["difference_fraction"]
    return f"{row['label']}: {was} -> {now}" + (
        "" if share is None else f" ({percent_text(share, sign=True)})"
    )


def _shown(value: Any) -> str:
    text = "none" if value is None else _written(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _written(value: Any) -> str:
    """A value as a person would write it into a scenario."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return everyday(value) if isinstance(value, str) else str(value)
