"""Whether the numbers of a document agree: cells with steps, steps with equations, tables with totals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.report.editions import up_to_date
from planner.trace.arithmetic import evaluate
from planner.trace.explain import whole_step
from planner.trace.numbers import exact_text
from planner.trace.records import Record, is_number, table_rows

CLOSE = 1e-9  # relative: sums in another order
AddsUp = dict[str, dict[tuple[str, ...], tuple[str, ...]]]
# Total -> tables that hold all of it together, and their columns that add up to it.
OF_A_PLAN: AddsUp = {
    "cost": {("cost",): ("usd",), ("unit_costs",): ("usd",)},
    "carbon": {("carbon",): ("kgco2e",), ("by_period",): ("carbon_kgco2e",), ("unit_costs",): ("kgco2e",)},
    "energy": {("energy",): ("it_kwh", "overhead_kwh"), ("by_period",): ("energy_kwh",)},
    "capex": {("purchases", "installations"): ("capex_usd",), ("by_period",): ("capex_usd",)},
}
OF_A_JOB: AddsUp = {
    "carbon": {("phases",): ("electricity_kgco2e", "hardware_kgco2e"), ("scopes",): ("kgco2e",)},
    "energy": {("phases",): ("energy_kwh",)},
}


# Columns of text in which there are numbers.
TEXTS = {("fits", "parameters"), ("read", "value")}
HOURS_OF_1000_NODE_DAYS = 24_000.0
_TIME = ("ettr_fraction", "lost_fraction", "checkpoint_fraction", "restart_fraction")


def disagreements(document: Record) -> list[tuple[str, str]]:
    """Where numbers of a document do not agree: the place of each, and what it should be."""
    inner = up_to_date(document)
    found = [*_of_cells(inner), *_of_steps(inner), *_of_totals(inner), *_of_sums(inner)]
    if "everfleet_fit" in inner:
        found += _of_fit(inner)
    if "everfleet_futures" in inner:
        found += _of_futures(inner)
    if "everfleet_checkpoints" in inner and "marks" in inner:
        found += _of_checkpoints(inner)
    if "everfleet_checkpoints" in inner and "jobs" in inner:
        found += _of_jobs(inner)
    if "everfleet_pareto" in inner:
        found += _of_fronts(inner)
    if "everfleet_calibration" in inner:
        found += _of_calibration(inner)
    if "everfleet_sweep" in inner:
        found += _of_sweep(inner)
    if "everfleet_validation" in inner:
        found += _of_validation(inner)
    if "headlines" in inner and "plans" in inner:
        found += _of_plans_side_by_side(inner)
    elif "everfleet_comparison" in inner:
        found += _of_two_plans(inner)
    return found


def _of_cells(document: Record) -> Iterator[tuple[str, str]]:
    steps = document.get("steps", [])
    for table, rows in document.get("cells", {}).items():
        held = table_rows(document, table)
        if len(held) != len(rows):
            yield table, f"has {len(held)} rows, and there are steps of {len(rows)}"
        for number, (row, cells) in enumerate(zip(held, rows, strict=False)):
            for key, step in cells.items():
                if (table, key) not in TEXTS:
                    yield from _compared(f"{table}[{number}].{key}", row.get(key), steps[step]["value"])


def _of_steps(document: Record) -> Iterator[tuple[str, str]]:
    """Steps whose equation is arithmetic, done again."""
    steps = document.get("steps", [])
    for number in range(len(steps)):
        step = whole_step(steps, number)
        if step.get("closes"):
            inputs = {name: steps[at]["value"] for name, at in step.get("inputs", {}).items()}
            wanted = evaluate(step["equation"].partition(" = ")[2], inputs)
            size = max((abs(value) for value in inputs.values()), default=0.0)
            yield from _compared(f"steps[{step['number']}] ({step['name']})", step["value"], wanted, size)


def _totals(document: Record) -> list[Record]:
    """The totals of one answer; those of a comparison hold the values of several."""
    return [total for total in document.get("totals", []) if "value" in total]


def _of_totals(document: Record) -> Iterator[tuple[str, str]]:
    explanations, steps = document.get("explanations", {}), document.get("steps", [])
    for total in _totals(document):
        step = explanations.get(total.get("explain"))
        if isinstance(step, int):
            yield from _compared(f"totals.{total['name']}", total["value"], steps[step]["value"])


def _of_sums(document: Record) -> Iterator[tuple[str, str]]:
    totals = {total["name"]: total["value"] for total in _totals(document)}
    adds_up = OF_A_JOB if "everfleet_job" in document else OF_A_PLAN
    known = totals.keys() & adds_up.keys() if document.get("cells") else set()
    for name in sorted(known):
        for together, keys in adds_up[name].items():
            held = [table for table in together if table in document.get("tables", document)]
            if not held:
                continue
            rows = [row for table in held for row in table_rows(document, table)]
            counted = [row for row in rows if row.get("in_total", "yes") == "yes"]
            yield from _summed(counted, keys, f"totals.{name}", totals[name], " and ".join(held))


def _of_fronts(document: Record) -> Iterator[tuple[str, str]]:
    """Points of a front are the totals of the plans that they lead to."""
    plans = document.get("plans", [])
    for number, plan in enumerate(plans):
        yield from ((f"plans[{number}].{place}", text) for place, text in disagreements(plan))
    for name, section in document["sections"].items():
        for number, row in enumerate(section["tables"].get("points", [])):
            if row["point"] <= len(plans):
                totals = {total["name"]: total["value"] for total in plans[row["point"] - 1]["totals"]}
                for total, key in (("cost", "cost_usd"), ("carbon", "carbon_kgco2e")):
                    place = f"sections.{name}.points[{number}].{key}"
                    yield from _compared(place, row[key], totals[total])


def _of_futures(document: Record) -> Iterator[tuple[str, str]]:
    """The mean over the futures."""
    rows, value = document["futures"], document["objective"]["value"]
    if value is not None:
        mean = math.fsum(row["probability_fraction"] * row["objective_value"] for row in rows)
        yield from _compared("objective.value (the mean of the futures)", value, mean)


def _of_checkpoints(document: Record) -> Iterator[tuple[str, str]]:
    """Shares of time add up to all of it."""
    for table in ("rows", "marks", "policies"):
        for number, row in enumerate(document[table]):
            place = f"{table}[{number}].ettr_fraction (with all that is lost)"
            yield from _compared(place, math.fsum(row[key] for key in _TIME), 1.0, 1e3)


def _of_jobs(document: Record) -> Iterator[tuple[str, str]]:
    """The jobs of a scenario: their sizes, and one of them in full."""
    for number, job in enumerate(document["jobs"]):
        for part, place in ((job, f"jobs[{number}]"), (job.get("document", {}), f"jobs[{number}].document")):
            yield from ((f"{place}.{where}", text) for where, text in disagreements(part))


def _roots(document: Record) -> dict[str, float]:
    """The numbers that are kept by name: their steps are of the document, or each has its own."""
    kept, steps = document.get("explanations", {}), document.get("steps", [])
    return {
        name: (steps[own] if isinstance(own, int) else own[0])["value"]
        for name, own in kept.items()
        if own or isinstance(own, int)
    }


def _of_fit(document: Record) -> Iterator[tuple[str, str]]:
    """The rate, the sizes and the forecasts of a log are what their explanations come to; causes add up."""
    roots = _roots(document)
    tables = {
        name: rows for section in document["sections"].values() for name, rows in section["tables"].items()
    }
    if "rate" in roots:
        rate = HOURS_OF_1000_NODE_DAYS * roots["rate"]
        yield from _compared("rate.value", document["rate"]["value"], rate)
        yield from _compared(
            "sections.rate.rate[0].per_1000_node_d", tables["rate"][0]["per_1000_node_d"], rate
        )
    for name, key in (("mttf", "mttf_h"), ("ettr", "ettr_fraction")):
        if name in roots and tables.get("mttf"):
            yield from _compared(f"sections.sizes.mttf[0].{key}", tables["mttf"][0][key], roots[name])
    for number, row in enumerate(tables.get("forecast", [])):
        if (root := roots.get(f"forecast.{row['next']}")) is not None:
            yield from _compared(f"sections.ahead.forecast[{number}].median", row["median"], root)
    if causes := tables.get("causes"):
        counted = math.fsum(row["failures"] for row in causes)
        yield from _compared("failures (of all causes)", document["failures"], counted)


def _of_two_plans(document: Record) -> Iterator[tuple[str, str]]:
    """What a plan has more than another."""
    for number, row in enumerate(document["totals"]):
        if None not in (row["before"], row["after"]):
            place = f"totals[{number}].difference ({row['label']})"
            size = max(abs(row["before"]), abs(row["after"]))
            yield from _compared(place, row["difference"], row["after"] - row["before"], size)


def _of_plans_side_by_side(document: Record) -> Iterator[tuple[str, str]]:
    """Totals are what the plans' explanations come to, and differences what each has more than the first."""
    for number, row in enumerate(document["totals"]):
        for plan, (value, kept) in enumerate(zip(row["values"], document["explanations"], strict=True)):
            if row["name"] in kept:
                place = f"totals[{number}].values[{plan}] ({row['label']})"
                yield from _compared(place, value, kept[row["name"]][0]["value"])
    rows = [(f"totals[{number}]", row) for number, row in enumerate(document["totals"])]
    for name, terms in document["terms"].items():
        rows += [(f"terms.{name}[{number}]", term) for number, term in enumerate(terms)]
    for place, row in rows:
        first = row["values"][0]
        for plan, (value, more) in enumerate(zip(row["values"], row["differences"], strict=True)):
            if first is not None and value is not None:
                size = max(abs(first), abs(value))
                yield from _compared(f"{place}.differences[{plan}]", more, value - first, size)


def _of_validation(document: Record) -> Iterator[tuple[str, str]]:
    """Errors are of our value and theirs; the counts are those of the rows."""
    rows, summary = document["rows"], document["summary"]
    for number, row in enumerate(rows):
        ours, theirs = row["ours"], row["expected"]
        if is_number(ours) and is_number(theirs):
            wanted = (ours - theirs) / (abs(theirs) or 1.0)
            yield from _compared(f"rows[{number}].error ({row['id']})", row["error"], wanted, 1.0)
    yield from _compared("summary.rows", summary["rows"], len(rows))
    for status in dict.fromkeys(row["status"] for row in rows):
        counted = sum(row["status"] == status for row in rows)
        yield from _compared(f"summary.{status}", summary[status], counted)


def _of_calibration(document: Record) -> Iterator[tuple[str, str]]:
    """Errors of each point, and what a factor makes of the value before it."""
    for number, one in enumerate(document["hardware"]):
        place = f"hardware[{number}]"
        for part, value in (("speed", ""), ("power", "_kw")):
            if held := one[part]:
                wanted = held[f"before{value}"] * held["factor"]
                wanted = min(1.0, wanted) if part == "speed" else wanted  # matrices at their peak
                yield from _compared(f"{place}.{part}.after{value}", held[f"after{value}"], wanted)
        points = [(f"{place}.speed.points", (one["speed"] or {}).get("points", []))]
        points += [
            (f"{place}.serving[{which}].points", model["points"])
            for which, model in enumerate(one["serving"])
        ]
        for where, rows in points:
            for line, row in enumerate(rows):
                for name in ("before", "after"):
                    if f"{name}_error" in row:
                        wanted = row[f"{name}_tokens_per_s"] / row["measured_tokens_per_s"] - 1.0
                        yield from _compared(
                            f"{where}[{line}].{name}_error", row[f"{name}_error"], wanted, 1.0
                        )


def _of_sweep(document: Record) -> Iterator[tuple[str, str]]:
    """Points that no other beats in money and carbon are those that say so."""
    points = [(number, row) for number, row in enumerate(document["points"]) if is_number(row["cost_usd"])]
    for number, row in points:
        own = (row["cost_usd"], row["carbon_kgco2e"])
        beaten = any(
            other["cost_usd"] <= own[0]
            and other["carbon_kgco2e"] <= own[1]
            and (other["cost_usd"], other["carbon_kgco2e"]) != own
            for _, other in points
        )
        if row["on_front"] is beaten:
            said, is_so = ("on", "beaten") if beaten else ("behind", "beaten by none")
            yield f"points[{number}].on_front", f"says {said} the front, and the point is {is_so}"


def _summed(
    rows: list[Record], keys: tuple[str, ...], place: str, value: float, table: str
) -> Iterator[tuple[str, str]]:
    parts = [row[key] for row in rows for key in keys]
    size = max(map(abs, parts), default=0.0)
    yield from _compared(f"{place} (added up over {table})", value, math.fsum(parts), size)


def _compared(place: str, value: object, wanted: float, size: float = 0.0) -> Iterator[tuple[str, str]]:
    if not is_number(value) and not is_number(wanted):
        return
    room = CLOSE * max(abs(wanted) if is_number(wanted) else 0.0, size) + 1e-9
    if not is_number(value) or not is_number(wanted) or abs(value - wanted) > room:
        shown = exact_text(value) if is_number(value) else repr(value)
        yield place, f"is {shown}, and what it comes from gives {exact_text(wanted)}"
