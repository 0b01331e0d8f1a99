"""What `everfleet sweep` answers: the table of all points as data, in words and as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from planner.answers.sweeps.cells import point_steps, with_risk
from planner.answers.sweeps.executors import DaskCluster, Executor, InProcess, LocalProcesses
from planner.answers.sweeps.running import SweepResult, run_sweep, sweep_records
from planner.inputs.exchange import shown_in
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Scenario
from planner.program.grids import Grid, GridError, drawn_points, pareto, varied
from planner.report.columns import aligned, words
from planner.report.data import csv_text
from planner.report.saving import FolderKind, write_folder
from planner.report.shape import answer_json
from planner.store import open_store
from planner.trace.currency import currency_of, currency_record, in_its_currency, showing
from planner.trace.numbers import mass, money, percent_text
from planner.trace.records import Record

# What draws of a point's plan say -> its column, and how it is told there.
RISK_WORDS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "median_cost_usd": ("median", money),
    "p95_cost_usd": ("p95", money),
    "enough_fraction": ("enough in", lambda share: percent_text(share, 0)),
}
SWEEP = FolderKind("a sweep folder", "sweep.json", "everfleet_sweep", ("sweep.json", "csv"))


def sweep(
    scenario: Scenario,
    grid: Grid,
    *,
    address: str | None,
    executor: Executor,
    watch: Callable[[str], None] | None = None,
) -> tuple[Record, str]:
    """Plan a grid into a store, going on where an earlier run stopped."""
    store = open_store(address)
    result = run_sweep(scenario, grid, store, executor, watch=watch)
    document = sweep_document(scenario, grid, result, store.document)
    return document, sweep_text(document)


def grid_for(
    scenario: Scenario, *, vary: Sequence[str], prices: str | None, draws: int | None, seed: int
) -> Grid:
    """The grid that is requested.

    Raises:
        GridError: none is, or more than one.
    """
    kinds = [bool(vary), prices is not None, draws is not None]
    if sum(kinds) != 1:
        raise GridError("a sweep has one kind of points: use --vary, or --pareto, or --draws")
    if prices is not None:
        return pareto(prices)
    if draws is not None:
        return drawn_points(scenario, load_catalogue(), draws=draws, seed=seed)
    return varied(vary)


def executor_for(*, workers: int, dask: str | None) -> Executor:
    """Who plans the points: a cluster if it is named, some processes, or this one."""
    if dask is not None:
        return DaskCluster(dask)
    return InProcess() if workers == 1 else LocalProcesses(workers)


def sweep_document(
    scenario: Scenario, grid: Grid, result: SweepResult, document_of: Callable[[str], Record]
) -> Record:
    """A sweep as plain data; `document_of` gives the one of a saved plan, which opens its totals."""
    rows = with_risk(sweep_records(result), document_of)
    return {
        "everfleet_sweep": 2,
        "digest": result.digest,
        "title": scenario.title,
        "kind": grid.kind,
        "seed": grid.seed,
        "points_planned_now": result.planned,
        "points": rows,
        **point_steps(rows, document_of),
        **currency_record(shown_in(scenario)),
    }


def save_sweep(document: Record, folder: Path) -> list[Path]:
    """Write sweep.json and csv/points.csv into `folder`, both or none."""
    with showing(currency_of(document)):
        table = csv_text("points", document["points"])
    contents = {"sweep.json": answer_json(document), "csv/points.csv": table}
    return write_folder(contents, folder, SWEEP)


@in_its_currency
def sweep_text(document: Record) -> str:
    """The table of all points: what varies, what it comes to, a star on the front of cost and carbon.

    Of few points also the median and p95 of the cost, rent where nodes are short included, and the share of
    draws in which the fleet is enough.
    """
    rows = document["points"]
    # Draws change tens of facts at once: the number of the draw says more than they do.
    paths = [] if document["kind"] == "draws" else list(dict.fromkeys(p for row in rows for p in _paths(row)))
    columns = words(
        ("point", lambda row: f"{row['point']}{'*' if row['on_front'] else ''}"),
        *((path, partial(_changed, path)) for path in paths),
        ("status", lambda row: row["status"]),
        ("cost", lambda row: "" if row["cost_usd"] is None else money(row["cost_usd"])),
        ("carbon", lambda row: "" if row["cost_usd"] is None else mass(row["carbon_kgco2e"])),
        *(
            (name, partial(_drawn, key, words_of))
            for key, (name, words_of) in RISK_WORDS.items()
            if any(row.get(key) is not None for row in rows)
        ),
        ("plan", lambda row: (row["plan"] or "")[:10]),
    )
    failed = [f"point {row['point']}: {row['error']}" for row in rows if row["error"]]
    starred = ["* no other point is as cheap and as clean"] if any(row["on_front"] for row in rows) else []
    return "\n".join([*aligned(columns, rows), "", *starred, *failed])


def _drawn(key: str, words_of: Callable[[float], str], row: Record) -> str:
    return "" if row.get(key) is None else words_of(row[key])


def _paths(row: Record) -> list[str]:
    return [key for key in row if "." in key or "[" in key]


def _changed(path: str, row: Record) -> str:
    return "" if row.get(path) is None else str(row[path])
