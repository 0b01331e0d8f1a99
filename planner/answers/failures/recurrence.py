"""Failures that follow failures, and nodes that fail more often than chance has it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.answers.failures.counts import by_unit
from planner.answers.failures.log_numbers import failure_rate, in_papers_unit, log_count, reported
from planner.answers.failures.rates import Rate, in_1000_node_days
from planner.answers.failures.sections import DAY_H, Section, ends
from planner.inputs.log_question import FitQuestion
from planner.trace.columns import Floats
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record
from reliability.fitting import fit_weibull
from reliability.lemons import Lemons, find_lemons, removal_gain, worst_nodes_fraction
from reliability.logs import FailureLog, gaps_h
from reliability.recurrent import trend_test

FEWEST_GAPS = 10
FALSE_DISCOVERIES = 0.1
MOST_NODES = 25
WORST_FRACTION = 0.05  # of the nodes: how much of the record they hold is said
# A part outlasts the repeats of one fault: half a year, or half of a shorter log.
PART_H = 4_380.0


def repeats_section(log: FailureLog, question: FitQuestion) -> Section:
    """Shapes of the gaps in the fleet and on one node, next to that of first failures."""
    title = "Whether failures repeat"
    if log.events.empty:
        return Section(title, ["The log dates no failure: gaps between them are not known."])
    rows: list[Record] = []
    said: list[str] = []
    of_gaps = [("between failures of the fleet", False), ("between failures of one node", True)]
    for name, within in of_gaps[:1] if log.names_no_node else of_gaps:
        gaps = gaps_h(log, within_unit=within)
        dated = np.ones(gaps.gap_h.size, dtype=bool)
        row, about = _shape(log, f"gaps {name}", gaps.gap_h, dated, 0.0, question)
        rows, said = rows + row, said + about
        if gaps.zero_gaps:
            said.append(
                f"{gaps.zero_gaps} gaps {name} of zero hours left out: failures at one instant are one."
            )
    if log.kind == "events" and not log.names_no_node:
        lives = log.lives[log.lives["duration_h"] > log.lives["entry_h"]]
        duration, entry = (lives[name].to_numpy(dtype=float) for name in ("duration_h", "entry_h"))
        died = lives["died"].to_numpy(dtype=bool)
        row, about = _shape(log, "until the first failure of a node", duration, died, entry, question)
        rows, said = rows + row, said + about
    said += _trend(log)
    said.append(
        f"Weibull shapes, with {ends(question.interval_fraction)} intervals: below 1 a failure makes the "
        "next one more likely soon after; 1 is a constant rate."
    )
    return Section(title, said, {"shapes": rows} if rows else {})


def _trend(log: FailureLog) -> list[str]:
    """Whether nodes fail more often the longer they are watched."""
    units = log.units.drop_duplicates("unit")
    units = units[units["exit_h"] > units["entry_h"]]
    events = log.failures.drop_duplicates(["unit", "start_h"]).merge(
        units[["unit", "entry_h", "exit_h"]], on="unit"
    )
    events = events[(events["start_h"] > events["entry_h"]) & (events["start_h"] <= events["exit_h"])]
    if log.kind != "events" or len(events) < FEWEST_GAPS:
        return []
    rows = {
        "event_unit": events["unit"].to_numpy(),
        "event_h": (events["start_h"] - events["entry_h"]).to_numpy(dtype=float),
        "unit": units["unit"].to_numpy(),
        "end_h": (units["exit_h"] - units["entry_h"]).to_numpy(dtype=float),
    }
    test = trend_test(**rows)
    way = "later" if test.laplace_z > 0 else "earlier"
    chance = "as at a constant rate" if test.laplace_p_value >= 0.05 else f"{way} than at a constant rate"
    return [
        f"Within the time that a node is watched, failures come {chance} (Laplace's z "
        f"{fixed_text(test.laplace_z, 2)}, p {number_text(test.laplace_p_value, 2)}; bursts alone can do "
        "that)."
    ]


def lemons_section(log: FailureLog, rate: Rate) -> Section:
    """Nodes that fail beyond chance, and what is gained without them."""
    title = "Nodes that fail beyond chance"
    parts = max(2, round(log.window_h / PART_H))
    names, counts, hours = by_unit(log, parts)
    if log.kind == "lives":
        return Section(
            title,
            ["In a table of lives each unit fails once at most: none can fail more often than the others."],
        )
    if log.names_no_node:
        return Section(title, ["The log names no node: name nodes to look for weak ones."])
    if len(names) < 2 or int(counts.any(axis=0).sum()) < 2:
        return Section(title, ["Too few failures have a node and a time: name nodes to look for weak ones."])
    found = find_lemons(failures=counts, node_h=hours, false_discovery_fraction=FALSE_DISCOVERIES)
    total = counts.sum(axis=1)
    order = np.lexsort((-total, found.fleet_p_fraction))[:MOST_NODES]
    rows = [
        _node_row(log, rate, names[i], float(total[i]), float(hours[i].sum()), found, i)
        for i in order
        if total[i] > 0
    ]
    tables = {"nodes": rows}
    lemons = int(found.is_lemon.sum())
    said = [
        f"{lemons} of {count_text(len(names))} nodes fail more often than the rest would by chance, at "
        f"{percent_text(FALSE_DISCOVERIES, 0)} false discoveries, over {parts} parts of "
        f"{count_text(log.window_h / parts / DAY_H)} d. Lasting rates of nodes differ by "
        f"{percent_text(found.spread_fraction, 0)} of their mean (one standard deviation)."
    ]
    worst = math.ceil(WORST_FRACTION * len(names))
    said.append(
        f"{percent_text(worst_nodes_fraction(failures=total, worst=worst))} of the failures on record fell "
        "on the "
        f"{worst} nodes that failed most, chance and repeats of one fault among them."
    )
    if log.kind == "jobs":
        said.append("Days of a node are those from its first job to its last, idle ones with them.")
    if 0 < lemons < len(names):
        gain = removal_gain(expected_per_node_h=found.expected_per_node_h, removed=found.is_lemon)
        said.append(
            f"Without them {percent_text(gain.failures_fraction)} of failures would go, from "
            f"{number_text(in_1000_node_days(gain.before_per_node_h), 3)} to "
            f"{number_text(in_1000_node_days(gain.after_per_node_h), 3)} for each 1000 node-days; a job's "
            "time "
            f"between failures would be {fixed_text(gain.job_mttf_factor, 3)} times as long. Past failures "
            "of a node "
            "overstate this: rates are drawn to the fleet's."
        )
    return Section(title, said, tables)


def _node_row(
    log: FailureLog, rate: Rate, node: str, failures: float, node_h: float, found: Lemons, place: int
) -> Record:
    """What one node had, what is to be expected of it, and how likely chance would do that."""
    had = failure_rate(log, failures, node_h, f"that {node} was watched")
    known = {"rate_per_node_h": had, "fleet_failures": rate.counts["failures"]}
    likely = in_1000_node_days(found.expected_per_node_h[place])
    drawn = log_count(log, "expected_per_1000_node_d", likely, note="its rate, drawn to the fleet's")
    return {
        "node": node,
        "failures": log_count(log, "nodes.failures", int(failures), note=f"of node {node}"),
        "per_1000_node_d": in_papers_unit(had),
        "expected_per_1000_node_d": reported(find_lemons, "expected_per_1000_node_d", likely, **known),
        **{
            key: reported(find_lemons, key, float(value[place]), **known, expected=drawn)
            for key, value in (("poisson_p", found.poisson_p_fraction), ("fleet_p", found.fleet_p_fraction))
        },
        "beyond_chance": bool(found.is_lemon[place]),
    }


def _shape(
    log: FailureLog,
    name: str,
    duration: Floats,
    died: NDArray[np.bool_],
    entry: ArrayLike,
    question: FitQuestion,
) -> tuple[list[Record], list[str]]:
    """A row with the Weibull shape of some times, or why they have none."""
    if died.sum() < FEWEST_GAPS:
        return [], [f"{int(died.sum())} times {name}: too few for a shape."]
    try:
        fit = fit_weibull(duration_h=duration, observed=died, entry_h=entry)
    except ValueError as error:
        return [], [f"No shape of times {name}: {error}."]
    low, high = fit.parameter_interval("shape", confidence_fraction=question.interval_fraction)
    count = log_count(log, "times", int(died.sum()), note=name)
    row = {
        "times": name,
        "count": count,
        "shape": reported(fit_weibull, "shape", fit.model.shape, times=count),
        "low": reported(fit_weibull, "shape_low", float(low), times=count),
        "high": reported(fit_weibull, "shape_high", float(high), times=count),
        "scale_h": reported(fit_weibull, "scale_h", fit.model.scale_h, "h", times=count),
    }
    return [row], []
