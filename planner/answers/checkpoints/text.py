"""Checkpoint documents as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.answers.checkpoints.policies import OBJECTIVES
from planner.report.columns import Column, aligned
from planner.report.shape import form_of
from planner.trace.currency import USD, in_its_currency, shown, shown_value
from planner.trace.numbers import (
    count_text,
    fixed_text,
    how_many,
    mass,
    money,
    number_text,
    percent_text,
    tonne_price,
)
from planner.trace.records import Record

LEAST_RETRIED = 0.005  # of ETTR: half a point is told


@in_its_currency
def to_text(document: Record) -> str:
    """The document as tables, the best intervals marked."""
    lines = [_setting(document), "", *_intervals(document), *_policies(document)]
    for name, write in (
        ("stops", _stops),
        ("waiting", _waiting),
        ("recovery", _recovery),
        ("detection", _detection),
        ("today", _today),
        ("finish", _finish),
        ("simulation", _simulation),
    ):
        if name in document:
            lines += write(document[name])
    return "\n".join(lines)


@in_its_currency
def scenario_text(document: Record) -> str:
    """A section for each job: its sizes, and one of them in full where it was requested."""
    lines = []
    for job in document["jobs"]:
        if "document" in job:
            lines += [f"{job['name']}", to_text(job["document"]), ""]
            continue
        lines += [
            sizes_said(job),
            *aligned(SIZES, job["sizes"], gap=" "),
            "",
        ]
    return "\n".join(lines).rstrip()


def sizes_said(job: Record) -> str:
    """What the sizes of a job of a scenario are listed for."""
    return f"{job['name']}: {job['model']}, {job['stated']} as the scenario has it; what loses least time"


@in_its_currency
def sentences(document: Record) -> Iterator[str]:
    """All that is said of one job of one size in words."""
    yield f"{_setting(document)}."
    yield from _worth(document)
    yield from _least(document)
    yield from today_said(document.get("today", []))


def title_of(document: Record) -> str:
    """What the page of a document is called."""
    return form_of(document).title(document)


def _setting(document: Record) -> str:
    inputs = document["inputs"]
    return (
        f"{inputs['model']} on {how_many(inputs['nodes'], 'node')} of {inputs['sku']}, "
        f"failures as {inputs['failures']}: one every {number_text(inputs['mttf_h'])} h; "
        f"a checkpoint to {inputs['storage']} takes "
        f"{number_text(inputs['write_min'] * 60)} s, a restart {number_text(inputs['restart_min'])} min"
    )


def _percent(heading: str, key: str, width: int = 8) -> Column:
    return Column(heading, lambda row: percent_text(row[key], 2), width)


def _fixed(heading: str, key: str, width: int, decimals: int = 2) -> Column:
    return Column(heading, lambda row: fixed_text(row.get(key), decimals), width)


def _flat(width: int) -> Column:
    """From which interval to which the loss is too small to matter."""
    return Column(
        "flat min",
        lambda row: f"{fixed_text(row['flat_low_min'], 2)} .. {fixed_text(row['flat_high_min'], 2)}",
        width,
    )


def _saves(width: int) -> Column:
    return Column("saves", lambda row: str(row["local_saves"] or 1), width)


def _band(heading: str, width: int) -> Column:
    """Both ends of ETTR, where the failure rate has a range."""

    def show(row: Record) -> str:
        if "ettr_low_fraction" not in row:
            return ""
        return f"{percent_text(row['ettr_low_fraction'], 2)} .. {percent_text(row['ettr_high_fraction'], 2)}"

    return Column(heading, show, width)


def _costs() -> list[Column]:
    """Money, in the currency that is shown, and carbon of a useful hour."""
    return [
        Column(
            f"{shown().code}/useful h",
            lambda row: fixed_text(shown_value(row["usd_per_useful_h"], USD), 2),
            14,
        ),
        _fixed("kg/useful h", "kgco2e_per_useful_h", 13, 3),
    ]


SIZES = (
    Column("SKU", lambda row: row["sku"], 12, right=False),
    Column("site", lambda row: row["site"], 12, right=False),
    Column("nodes", lambda row: str(row["nodes"]), 6),
    _fixed("MTTF h", "mttf_h", 8),
    Column("write s", lambda row: fixed_text(60 * row["write_min"], 1), 8),
    _fixed("stated min", "stated_interval_min", 11),
    _percent("ETTR", "stated_ettr_fraction"),
    Column("  best", lambda row: f"  {row['policy']}", 15, right=False),
    _fixed("min", "interval_min", 8),
    _saves(6),
    _percent("ETTR", "ettr_fraction"),
    _band("low .. high", 16),
    _flat(16),
)


def _intervals(document: Record) -> Iterator[str]:
    marks = document["marks"]
    band, linear = "ettr_low_fraction" in marks[0], "linear_ettr_fraction" in marks[0]
    queue = "ettr_with_queue_fraction" in marks[0]
    columns = [
        _fixed("interval min", "interval_min", 14),
        _percent("ETTR", "ettr_fraction"),
        _percent("lost", "lost_fraction"),
        _percent("stalled", "checkpoint_fraction"),
        _percent("restart", "restart_fraction"),
        *_costs(),
        *([_band("ETTR low .. high", 18)] if band else []),
        *([_percent("with queue", "ettr_with_queue_fraction", 11)] if queue else []),
        *([_percent("linear", "linear_ettr_fraction")] if linear else []),
        Column("", _remarks, right=False),
    ]
    marked = [mark["interval_min"] for mark in marks]
    plain = [
        row for row in document["rows"][::4] if not np.isclose(row["interval_min"], marked, rtol=1e-6).any()
    ]
    yield from aligned(columns, sorted([*marks, *plain], key=lambda one: one["interval_min"]), gap=" ")
    yield ""
    yield from _worth(document)


def _ends(row: Record) -> bool:
    """Whether a run gets any work done, so that an hour of it has a price."""
    return bool(row["ettr_fraction"])


def _worth(document: Record) -> Iterator[str]:
    """Which intervals are as good, and what a point of ETTR is worth."""
    flat = document["flat"]
    if any(_ends(mark) for mark in document["marks"]):
        yield (
            f"From {fixed_text(flat['low_min'], 1)} to {fixed_text(flat['high_min'], 1)} min the loss is "
            f"below {percent_text(flat['loss_fraction'])} of the best."
        )
    else:
        yield (
            "At no interval does the run get on: its stops throw away as much as it trains between them. "
            "Fewer nodes, faster writes or a shorter restart would change that."
        )
    worth = document["worth"]
    yield (
        f"At the best, {fixed_text(worth['not_training_h_a_day'], 2)} h of a day train nothing; a point of "
        "ETTR is "
        f"worth {tonne_price(worth['usd_a_point_and_day']).removesuffix('/t')} a day, "
        f"{money(worth['usd_a_point_and_month'])} and {mass(worth['kgco2e_a_point_and_month'])} a month."
    )
    yield from retried_said(document)


def retried_said(document: Record) -> list[str]:
    """What failures during restarts come to, where they come to something: no ETTR above counts them."""
    best = max(mark["ettr_fraction"] for mark in document["marks"])
    retried = document["worth"]["retried_ettr_fraction"]
    if best - retried < LEAST_RETRIED:
        return []
    inputs = document["inputs"]
    return [
        f"A restart takes {percent_text(inputs['restart_min'] / 60 / inputs['mttf_h'], 0)} of the time "
        "between failures. Those that strike during one, and begin it anew, are not in the figures: with "
        f"them ETTR is {percent_text(retried, 1)} at the best interval, in place of {percent_text(best, 1)}."
    ]


def _remarks(row: Record) -> str:
    """Which interval a row is, and where the straight line does not hold."""
    out = "out of its range" if not row.get("linear_in_range", True) else ""
    name = row.get("name", "")
    return f"{out}  {name}".rstrip() if out else f" {name}".rstrip()


def today_said(rows: list[Record]) -> list[str]:
    """What changing the interval of today would bring in a month, a sentence each."""
    said = []
    for row in rows:
        parts = [
            _gained(shown, value, words)
            for value, shown, words in (
                (row["freed_h"], f"{fixed_text(abs(row['freed_h']), 2)} h", ("sooner", "later")),
                (row["spared_usd"], money(abs(row["spared_usd"])), ("less", "more")),
                (row["spared_kgco2e"], mass(abs(row["spared_kgco2e"])), ("less", "more")),
            )
        ]
        said.append(
            f"A checkpoint every {fixed_text(row['interval_min'], 1)} min ({row['change_to']}) does the same "
            f"work of a month {', '.join(parts)}."
        )
    return said


def _gained(shown: str, value: float, words: tuple[str, str]) -> str:
    return f"{shown} {words[0] if value >= 0 else words[1]}"


def _today(rows: list[Record]) -> list[str]:
    return ["", "Against the interval of today:", *today_said(rows)]


def _policies(document: Record) -> Iterator[str]:
    yield ""
    yield from aligned(
        [
            Column("least", lambda row: row["objective"], 8, right=False),
            Column("policy", lambda row: row["policy"], 13, right=False),
            _fixed("interval min", "interval_min", 13),
            _saves(6),
            _flat(18),
            _percent("ETTR", "ettr_fraction"),
            *_costs(),
        ],
        sorted(document["policies"], key=lambda row: list(OBJECTIVES).index(row["objective"])),
        gap=" ",
    )
    yield ""
    yield from _least(document)


def _least(document: Record) -> Iterator[str]:
    """Which policy is best for each objective, and how far the others are."""
    endless = {row["policy"] for row in document["policies"] if not _ends(row)}
    for one in document["best"]:
        if one["policy"] in endless:
            yield f"Least {one['objective']}: none, the run ends with no policy."
            continue
        behind = [
            f"{name} never ends" if name in endless else f"{name} takes {percent_text(value, 2)} more"
            for key, value in one.items()
            if (name := key.removesuffix("_more_fraction")) not in (key, one["policy"])
        ]
        yield f"Least {one['objective']}: {one['policy']}; {', '.join(behind)}."


def _stops(rows: list[Record]) -> Iterator[str]:
    """What each cause takes, where there is more than failures."""
    if len(rows) == 1:
        return
    yield ""
    yield from aligned(
        [
            Column("stops", lambda row: row["cause"], 13, right=False),
            _fixed("a month", "per_month", 10),
            _fixed("restart min", "restart_min", 12),
            _fixed("thrown away min", "rolled_back_min", 16),
            _fixed("lost h a month", "lost_h", 15),
        ],
        rows,
        gap=" ",
    )


def _waiting(rows: list[Record]) -> Iterator[str]:
    """What slow nodes and the spread of steps make of each step."""
    for row in rows:
        yield ""
        yield (
            f"Steps take {number_text(row['waiting_factor'], 4)} times as long, as nodes wait for slow ones: "
            f"{percent_text(row['slow_fraction'], 2)} of them take {number_text(row['slowdown_factor'], 3)} "
            f"times as long, steps of one vary by {percent_text(row['spread_fraction'], 2)}; that is "
            f"{fixed_text(row['waited_h'], 1)} h of a month, which ETTR leaves out."
        )


def _recovery(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield from aligned(
        [
            Column("recovery", lambda row: row["choice"], 31, right=False),
            _fixed("restart min", "restart_min", 12),
            Column("spares", lambda row: count_text(row["spares"]), 7),
            _fixed("interval min", "interval_min", 13),
            _percent("ETTR", "ettr_fraction"),
            *_costs(),
        ],
        rows,
        gap=" ",
    )
    ended = [row for row in rows if _ends(row)]
    cheapest = min(ended, key=lambda row: float(row["usd_per_useful_h"]), default=None)
    kept = min(
        (row for row in ended if row["spares"]), key=lambda row: float(row["usd_per_useful_h"]), default=None
    )
    if cheapest is not None and kept is not None and not cheapest["spares"]:
        less = 1.0 - float(cheapest["usd_per_useful_h"]) / float(kept["usd_per_useful_h"])
        yield (
            f"{cheapest['choice'].capitalize()} takes {percent_text(less)} less money than {kept['choice']}: "
            "it pays for no spares, and needs a scheduler that has a node free whenever one fails."
        )


def _detection(rows: list[Record]) -> Iterator[str]:
    """What checks for silent corruption would find and cost."""
    without, checked = rows
    if _ends(without) and _ends(checked):
        more = checked["usd_per_useful_h"] / without["usd_per_useful_h"] - 1.0
        cost = f"money {percent_text(more, 2)} more."
    else:
        cost = "so that the run never ends with them." if _ends(without) else "so that the run never ends."
    yield ""
    yield (
        f"Silent corruption: {number_text(without['unfound_per_month'], 2)} a month without checks, "
        f"{number_text(checked['unfound_per_month'], 2)} unnoticed with them; ETTR "
        f"{percent_text(without['ettr_fraction'], 2)} and {percent_text(checked['ettr_fraction'], 2)}, {cost}"
    )


def _finish(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield from aligned(
        [
            Column("finish", lambda row: row["policy"], 13, right=False),
            Column("rate", lambda row: row["rate"], 7, right=False),
            *(_fixed(f"{name} h", f"{name}_h", 10, 1) for name in ("mean", "p5", "p50", "p95")),
            _fixed("lost GPU-h p5", "lost_accelerator_p5_h", 14, 0),
            _fixed("p50", "lost_accelerator_p50_h", 12, 0),
            _fixed("p95", "lost_accelerator_p95_h", 12, 0),
        ],
        rows,
        gap=" ",
    )


def _simulation(rows: list[Record]) -> Iterator[str]:
    yield ""
    yield (
        f"Played {count_text(rows[0]['replicas'])} times with seed {rows[0]['seed']}, ETTR and its "
        "standard error:"
    )
    for row in rows:
        yield (
            f"{row['policy']:<13} {percent_text(row['simulated_ettr_fraction'], 4)} "
            f"+- {percent_text(row['standard_error_fraction'], 4)}, closed form "
            f"{percent_text(row['closed_form_ettr_fraction'], 4)}"
        )
