"""One run on several sites: what crosses the link between them, and what that takes next to one site."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from planner.answers.throughput.one_step import StepRun, step_of
from planner.answers.throughput.question import checked_kind
from planner.answers.throughput.setting import Setting
from planner.answers.throughput.training import Work, work_of
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import Question
from planner.inputs.loading import load_catalogue
from planner.inputs.models import with_model_cards
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.scenario.problems import near_or_own, shown
from planner.performance.bundles import SplitLimits
from planner.physics.across import (
    APART,
    DATA,
    ONE,
    PIPELINE,
    SAYS,
    SMALL,
    Link,
    Waits,
    activations,
    gradients,
    waiting,
)
from planner.physics.hours import fed
from planner.physics.nodes import host_columns, power_curve, working_node_kw
from planner.physics.requests import given, inputs_of
from planner.physics.run_speed import training_accelerator_kw
from planner.report.columns import Column, aligned
from planner.trace.explain import Steps
from planner.trace.numbers import count_text, number_text, percent_text
from planner.trace.quantities import Parts, Traced, chosen, derive, ratio, total
from planner.trace.records import Record, numbered, plain_rows
from planner.trace.units import UnitError, parse_quantity

SKU = "h100-8"
MOST_SITES = 6
MILLION = 1e6


@dataclass(frozen=True)
class Place:
    """A site that takes part: its nodes, its grid and its PUE."""

    name: str
    nodes: int
    grid: str
    pue_key: str


def across_document(question: Question, catalogue: Catalogue | None = None) -> Record:
    """Every way to train on one or several of the sites: time, energy, carbon of each, the best marked.

    Raises:
        InputError: the question is wrong; the message has every problem.
    """
    catalogue = with_model_cards(catalogue or load_catalogue(), [question.model], Path())
    question = replace(question, skus=question.skus or (SKU,))
    checked_kind(question, catalogue)
    places, link = _read(question, catalogue)
    setting = Setting(question, inputs_of(catalogue, question.skus), {})
    work = work_of(setting)
    reference = step_of(setting, work, sum(one.nodes for one in places), None)
    rows = list(_options(setting, work, places, link, reference))
    _mark(rows)
    tables = {"options": rows, "sites": _site_rows(setting, places)}
    steps = Steps()
    return {
        "everfleet_across": 1,
        "title": f"{question.model} across {', '.join(one.name for one in places)}",
        "headline": [*_said(rows, reference, places), *_notes(setting, places)],
        "inputs": {
            "model": question.model,
            "precision": question.precision,
            "sku": question.skus[0],
            "across": question.across,
            "link": question.link,
        },
        **{name: plain_rows(held) for name, held in tables.items()},
        "cells": numbered(tables, steps),
        "steps": steps.packed(),
    }


def across_text(document: Record) -> str:
    """The options as a table for a terminal."""
    columns = [
        Column("", lambda row: row["best"], right=False),
        Column("sites", lambda row: row["sites"], right=False),
        Column("crosses", lambda row: SAYS[row["crosses"]], right=False),
        Column("tokens/s", lambda row: number_text(row.get("rate_per_s"))),
        Column("of one site", lambda row: percent_text(row.get("of_one_site_fraction"))),
        Column("step s", lambda row: number_text(row.get("step_s"))),
        Column("link s", lambda row: number_text(row.get("link_s"))),
        Column("link GB", lambda row: number_text(row.get("link_gb"))),
        Column("kWh/M", lambda row: number_text(row.get("million_kwh"), 3)),
        Column("kg/M", lambda row: number_text(row.get("million_kgco2e"), 3)),
        Column("layout", lambda row: row.get("layout") or row["reason"], right=False),
    ]
    lines = [document["title"], "", *aligned(columns, document["options"]), ""]
    return "\n".join([*lines, *document["headline"]])


def _read(question: Question, catalogue: Catalogue) -> tuple[list[Place], Link]:
    """Sites and link out of their texts.

    Raises:
        ScenarioError: one is not understood; the error holds every problem.
    """
    problems: list[Problem] = []
    places = []
    for part in filter(None, (one.strip() for one in question.across.split(","))):
        name, _, nodes = part.rpartition(":")
        if not name or not nodes.strip().isdecimal() or int(nodes) < 1:
            problems.append(Problem("--across", f"'{part}' is no site and its nodes: write dallas:64"))
            continue
        found = _grids(name.strip(), catalogue)
        if len({grid for grid, _ in found}) != 1:
            cities = [one.title for one in catalogue.regions.values()]
            known = [*catalogue.names("grid", "intensity"), *catalogue.regions, *cities]
            remedy = ", ".join(grid for grid, _ in found) or near_or_own("region", name.strip(), known)
            why = "is in several grids" if found else "is no grid, region or city of one"
            problems.append(Problem("--across", f"{shown(name.strip())} {why}; {remedy}"))
            continue
        places.append(Place(name.strip(), int(nodes), *found[0]))
    if not 1 < len(places) <= MOST_SITES and not problems:
        problems.append(Problem("--across", f"names 2 to {MOST_SITES} sites, got {len(places)}"))
    if len({one.name for one in places}) < len(places):
        problems.append(Problem("--across", "names a site twice"))
    link = _link(question.link, problems)
    if problems or link is None:
        raise ScenarioError("", problems)
    return places, link


def _grids(name: str, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Grids and PUE that a name may mean: of a grid, of a region, of the regions of a city."""
    if catalogue.has(f"grid.{name}.intensity"):
        return [(name, "pue.default")]
    regions = [
        one
        for one in catalogue.regions.values()
        if name.lower() in (one.name.lower(), one.title.lower())
        and catalogue.has(f"grid.{one.grid}.intensity")
    ]
    return [(one.grid, one.pue_key or "pue.default") for one in regions]


def _link(text: str, problems: list[Problem]) -> Link | None:
    bandwidth, latency, *rest = [*(part.strip() for part in text.split(",")), "", ""][:3]
    numbers = []
    for said, unit, what in ((bandwidth, "GB/s", "bandwidth"), (latency, "s", "latency")):
        try:
            numbers.append(parse_quantity(said, unit))
        except UnitError as error:
            problems.append(Problem("--link", f"{what}: {error}"))
    shares = re.fullmatch(r"(\d+(?:\.\d+)?)(?::1)?", rest[0] or "1:1")
    over = float(shares[1]) if shares else 0.0
    if over < 1:
        problems.append(Problem("--link", f"oversubscription is such as 2:1, from 1:1 up, got '{rest[0]}'"))
    if len(numbers) == 2 and (numbers[0] <= 0 or numbers[1] < 0):
        problems.append(Problem("--link", "has a bandwidth above 0 and a latency of 0 or more"))
    if problems:
        return None
    return Link(
        given("link_bandwidth", numbers[0], "GB/s"),
        given("link_latency", numbers[1], "s"),
        given("link_oversubscription", over, "1"),
    )


def _options(
    setting: Setting, work: Work, places: Sequence[Place], link: Link, reference: StepRun | str
) -> Iterator[Record]:
    """Each site alone; then each set of sites with each thing that may cross."""
    for place in places:
        run = step_of(setting, work, place.nodes, None)
        yield _row(setting, work, [place], ONE, run, None, reference)
    for count in range(2, len(places) + 1):
        for sharing in combinations(places, count):
            nodes = [one.nodes for one in sharing]
            whole = sum(nodes) // math.gcd(*nodes)
            data = step_of(setting, work, sum(nodes), SplitLimits(copies_of=whole))
            for crosses in (DATA, SMALL, APART):
                waits = data if isinstance(data, str) else _gradients(setting, data, link, count, crosses)
                yield _row(setting, work, sharing, crosses, data, waits, reference)
            staged = step_of(setting, work, sum(nodes), SplitLimits(stages_of=whole))
            waits = staged if isinstance(staged, str) else _activations(staged, work, link, count)
            yield _row(setting, work, sharing, PIPELINE, staged, waits, reference)


def _gradients(setting: Setting, run: StepRun, link: Link, sites: int, crosses: str) -> Waits:
    return gradients(
        setting.fact,
        run.step,
        link,
        parameters=setting.fact(f"model.{setting.question.model}.parameters"),
        hidden_fraction=run.arguments["data_parallel_hidden_fraction"],
        sites=sites,
        crosses=crosses,
    )


def _activations(run: StepRun, work: Work, link: Link, sites: int) -> Waits:
    layout = run.layout
    return activations(
        run.step,
        link,
        micro_batch=chosen("micro_batch", float(layout.micro_batch), "of the layout"),
        micro_batches=chosen("micro_batches", run.micro_batches, "of a step in each copy"),
        copies=chosen("copies", float(layout.dp), "data-parallel copies of the layout"),
        sequence_tokens=work.sequence,
        hidden=run.arguments["hidden"],
        sites=sites,
    )


def _row(
    setting: Setting,
    work: Work,
    sharing: Sequence[Place],
    crosses: str,
    run: StepRun | str,
    waits: Waits | str | None,
    reference: StepRun | str,
) -> Record:
    row: Record = {
        "sites": ", ".join(one.name for one in sharing),
        "crosses": crosses,
        "best": "",
        "nodes": chosen("nodes", sum(one.nodes for one in sharing), "of the sites"),
        "fits": not isinstance(run, str),
    }
    if isinstance(run, str) or isinstance(waits, str):
        return row | {"reason": f"{run if isinstance(run, str) else waits}"}
    parts = run.step if waits is None else waiting(run.step, waits)
    step = parts.total_s
    rate = derive(
        tokens_of_step_per_s,
        global_batch=run.arguments["global_batch"],
        sequence_tokens=work.sequence,
        step_s=step,
    )
    power = _site_kw(setting, run, parts)
    energies, carbons = {}, {}
    for one in sharing:
        kw = (chosen("nodes", float(one.nodes), f"at {one.name}") * power).named("site_kw")
        pue, grid = setting.fact(one.pue_key), setting.fact(f"grid.{one.grid}.intensity")
        price = setting.fact("electricity.default_price")
        energies[one.name] = (kw * pue).named("building_kw", "with what the building takes")
        carbons[one.name] = fed(kw, pue, price, grid)[1]
    drawn = total("drawn_kw", energies)
    row |= {
        "layout": run.layout.says(),
        "step_s": step,
        "rate_per_s": rate,
        "million_kwh": derive(million_kwh, drawn_kw=drawn, rate_per_s=rate),
        "million_kgco2e": derive(million_operational_kgco2e, hour_kgco2e=_joined(carbons), rate_per_s=rate),
    }
    if waits is not None:
        row |= {"link_s": waits.link_s, "link_gb": waits.link_gb}
    if not isinstance(reference, str):
        row["of_one_site_fraction"] = ratio(
            rate,
            derive(
                tokens_of_step_per_s,
                global_batch=reference.arguments["global_batch"],
                sequence_tokens=work.sequence,
                step_s=reference.step.total_s,
            ),
        )
    return row


def _joined(carbons: Mapping[str, Traced]) -> Traced:
    """Carbon of several sites, each as its grid is published; `_notes` says where these differ."""
    first, *others = carbons.values()
    same = all(first.boundary == other.boundary for other in others)
    tag = "" if same else "grid=as each grid is published"
    return total("both_kgco2e", carbons, "Carbon of the sites together", gives=tag)


def tokens_of_step_per_s(*, global_batch: float, sequence_tokens: float, step_s: float) -> float:
    """Tokens a second of a whole run.

    X = B s / T

    Source: definition.
    """
    return global_batch * sequence_tokens / step_s


def million_kwh(*, drawn_kw: float, rate_per_s: float) -> float:
    """Energy of a million tokens, with what buildings take.

    E = 10^6 P / (3600 X)

    Source: definition.
    """
    return MILLION * drawn_kw / (3600.0 * rate_per_s)


def million_operational_kgco2e(*, hour_kgco2e: float, rate_per_s: float) -> float:
    """Carbon of the electricity of a million tokens, each site by its own grid.

    C = 10^6 c / (3600 X)

    Source: definition.
    """
    return MILLION * hour_kgco2e / (3600.0 * rate_per_s)


def _site_kw(setting: Setting, run: StepRun, step: Parts) -> Traced:
    """Power of one node while the step works and waits."""
    inputs, sku = setting.inputs, np.zeros(1, dtype=np.intp)
    busy = training_accelerator_kw(
        inputs,
        run.arguments,
        step,
        run.accelerators,
        inputs.fact(f"model.{setting.question.model}.parameters"),
        inputs.of_sku(inputs.accelerator("tdp"), sku),
        power_curve(inputs, sku),
    )
    each = inputs.of_sku(inputs.server("accelerators"), sku)
    return working_node_kw(host_columns(inputs, sku), each, busy)[0]


def _mark(rows: Sequence[Record]) -> None:
    """Mark the fastest option that trains as one site would, and the one of least carbon."""
    able = [row for row in rows if row["fits"] and row["crosses"] != APART]
    if not able:
        return
    max(able, key=lambda row: float(row["rate_per_s"].value))["best"] = "fastest"
    cleanest = min(able, key=lambda row: float(row["million_kgco2e"].value))
    cleanest["best"] = ", ".join(filter(None, (cleanest["best"], "cleanest")))


def _site_rows(setting: Setting, places: Sequence[Place]) -> list[Record]:
    return [
        {
            "site": one.name,
            "nodes": chosen("nodes", one.nodes, "as requested"),
            "grid": one.grid,
            "grid_kgco2e_per_kwh": setting.fact(f"grid.{one.grid}.intensity"),
            "pue_ratio": setting.fact(one.pue_key),
        }
        for one in places
    ]


def _said(rows: Sequence[Record], reference: StepRun | str, places: Sequence[Place]) -> Iterator[str]:
    best = next((row for row in rows if "fastest" in row["best"]), None)
    if best is None:
        yield "No option works: see the reasons."
        return
    yield (
        f"Fastest: {best['sites']}, {SAYS[best['crosses']]}: "
        f"{number_text(float(best['rate_per_s'].value))} tokens/s"
        + (
            f", {percent_text(1.0 - float(best['of_one_site_fraction'].value))} less than "
            f"{count_text(sum(one.nodes for one in places))} nodes at one site would give."
            if "of_one_site_fraction" in best
            else "."
        )
    )
    clean = next(row for row in rows if "cleanest" in row["best"])
    yield (
        f"Least carbon: {clean['sites']}, {SAYS[clean['crosses']]}: "
        f"{number_text(float(clean['million_kgco2e'].value), 3)} kg for a million tokens."
    )
    if isinstance(reference, str):
        yield f"All nodes at one site: {reference}."


def _notes(setting: Setting, places: Sequence[Place]) -> list[str]:
    steps = setting.fact("across.apart_steps").value
    grids = {one.name: setting.fact(f"grid.{one.grid}.intensity") for one in places}
    kinds = {str(fact.boundary.get("grid", "")) for fact in grids.values()}
    mixed = "; ".join(f"{name}: {fact.boundary.get('grid', '')}" for name, fact in grids.items())
    differ = [f"Grids are published on other bases, which are not made alike: {mixed}."]
    return [
        *(differ if len(kinds) > 1 else []),
        f"Weights every {count_text(steps)} steps is another optimisation: its loss is not looked at, and it "
        "is not marked as the fastest.",
        "Tensor and expert parallelism never cross, and sharded weights are gathered within a site. Carbon "
        "is of electricity, each site by its own grid and PUE; failures, the link's own energy and hardware "
        "come on top.",
    ]
