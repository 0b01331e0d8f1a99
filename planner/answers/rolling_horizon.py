"""The scenario from here: the periods that are left, the fleet that stands, demand as it came.

Nothing is guessed. A run that the plan has begun needs its share that is done; a node group that was not
reported stays as the plan has it at that time.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from planner.inputs.actuals import Actual
from planner.inputs.editing.edits import with_rows, with_values
from planner.inputs.editing.fields import is_table_list, rules_of, sections
from planner.inputs.exchange import rates_in
from planner.inputs.scenario.fields import Frame, Quantity
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.files import read_toml
from planner.inputs.scenario.growth import with_growth
from planner.inputs.scenario.parts import read_far
from planner.inputs.scenario.schema import Horizon
from planner.report.standards.periods import Period, periods_of
from planner.trace.errors import InputError
from planner.trace.numbers import mass, money, number_text, percent_text, written_text
from planner.trace.records import Record

DIGITS = 4  # of a demand that is stated anew


def scenario_from_here(
    text: str, name: str, plan: Record, actuals: Sequence[Actual]
) -> tuple[str, list[str]]:
    """The text of the scenario that plans what is left, its comments kept, and what was changed in words.

    Raises:
        InputError: no period is left, or a run's progress is not known.
        ScenarioError: the text is no TOML.
    """
    periods = periods_of(plan)
    left = _left(periods, actuals)
    notes = [f"from {left[0].first}: {len(left)} of {len(periods)} periods are left"]
    gone = periods[: len(periods) - len(left)]
    changes = _horizon(text, name, left, len(periods)) | _demand(text, name, plan, actuals, left, notes)
    changes |= _caps(text, name, plan, actuals, gone, notes)
    text = with_values(text, name, changes).text
    text = _fleet(text, name, plan, actuals, gone[-1], notes)
    notes += _on_order(plan, left[0].first)
    return _runs(text, name, plan, actuals, left[0].first, notes), notes


def _left(periods: Sequence[Period], actuals: Sequence[Actual]) -> list[Period]:
    """The periods after that of the last month that was reported."""
    last = max(one.month for one in actuals)
    left = [period for period in periods if f"{period.first:%Y-%m}" > last]
    if not left:
        raise InputError(f"{last} is in the last period of the plan: nothing is left to plan again")
    if len(left) == len(periods):
        raise InputError(f"{last} is before the plan's first period: there is nothing to plan from")
    return left


def _horizon(text: str, name: str, left: Sequence[Period], count: int) -> dict[str, Any]:
    """The horizon that is left, and the values of its periods where a key has one for each or grows."""
    document = read_toml(text, name)
    grown, _ = with_growth(document, read_far(Horizon, document["horizon"], Frame()))
    changes: dict[str, Any] = {"horizon.start": left[0].first, "horizon.periods": len(left)}
    for section in sections():
        held = document.get(section)
        if held is None:
            continue
        each = [key for key, rule in rules_of(section).items() if isinstance(rule, EachPeriod)]
        for number, table in enumerate(held) if is_table_list(section) else [(None, held)]:
            at = section if number is None else f"{section}[{number}]"
            later = table if number is None else grown[section][number]
            for key in each:
                if not isinstance(later.get(key), list) or len(later[key]) != count:
                    continue
                values = later[key][count - len(left) :]
                # What grows is stated for the first period, and goes on growing from there.
                changes[f"{at}.{key}"] = values if isinstance(table[key], list) else _rounded(values[0])
    return changes


def _rounded(stated: str | float) -> str | float:
    """A demand that was multiplied, to the digits that a person would write."""
    if not isinstance(stated, str):
        return float(written_text(stated, DIGITS))
    number, _, unit = stated.partition(" ")
    return f"{written_text(float(number), DIGITS)} {unit}"


def _caps(
    text: str,
    name: str,
    plan: Record,
    actuals: Sequence[Actual],
    gone: Sequence[Period],
    notes: list[str],
) -> dict[str, Any]:
    """What is left of limits on the whole horizon.

    Carbon less what was reported, else planned; money less what the plan counts, as what is reported is cash.
    """
    document, rules, changes = read_toml(text, name), rules_of("policy"), dict[str, Any]()
    for key, column, measure in (("carbon_cap", "carbon_kgco2e", "carbon"), ("money_cap", "cost_usd", None)):
        if (stated := document["policy"].get(key)) is None:
            continue
        planned = {row["period"]: float(row[column]) for row in plan["tables"]["by_period"]}
        rule, spent = rules[key], 0.0
        for period in gone:
            seen = {
                one.month: one.value
                for one in actuals
                if one.measure == measure and _holds(period, one.month)
            }
            days = sum(monthrange(*map(int, month.split("-")))[1] for month in seen)
            unseen = 1.0 - days / (period.after - period.first).days
            spent += sum(seen.values()) + planned[period.label] * unseen
        assert isinstance(rule, Quantity), "a limit on the horizon is one amount"
        whole, say = rule.read(stated, Frame(rates=rates_in(document))), mass if measure else money
        if (rest := whole - spent) <= 0:
            notes.append(f"policy.{key}: all of {say(whole)} is used up: state what may come from here on")
            continue
        changes[f"policy.{key}"] = rule.write(float(written_text(rest, DIGITS)))
        notes.append(f"policy.{key}: {say(rest)} of {say(whole)} are left")
    return changes


def _demand(
    text: str, name: str, plan: Record, actuals: Sequence[Actual], left: Sequence[Period], notes: list[str]
) -> dict[str, Any]:
    """Peak rates that are left, in proportion to how the last one that was reported came."""
    rows = read_toml(text, name).get("services", [])
    services = {row["name"]: number for number, row in enumerate(rows)}
    by_month = {period.label: period for period in periods_of(plan)}
    changes: dict[str, Any] = {}
    for service, number in services.items():
        seen = [one for one in actuals if one.measure == "demand" and one.of == service]
        if not seen:
            continue
        last = seen[-1]
        planned = {
            row["period"]: float(row["demand_per_s"])
            for row in plan["tables"]["services"]
            if row["service"] == service
        }
        then = next((rate for label, rate in planned.items() if _holds(by_month[label], last.month)), None)
        if not then:
            continue
        if (ratio := last.value / then) == 1.0:
            continue
        rates = [planned[period.label] * ratio for period in left if period.label in planned]
        if len(rates) == len(left):
            each = [f"{written_text(rate, DIGITS)} /s" for rate in rates]
            changes[f"services[{number}].peak_rate"] = each[0] if "growth" in rows[number] else each
            notes.append(
                f"{service}: {number_text(ratio, 3)} times the demand that was planned, from {last.month} on"
            )
    return changes


def _fleet(
    text: str, name: str, plan: Record, actuals: Sequence[Actual], last: Period, notes: list[str]
) -> str:
    """The node groups that stand: reported, or as the plan has them in the last period that was reported.

    What the plan has ordered for the day after that period stands, too.

    Raises:
        InputError: the count of a SKU is reported without its site, and several sites have it.
    """
    stands = {
        (row["sku"], row["site"]): int(row["in_service_nodes"])
        for row in plan["tables"]["fleet"]
        if row["period"] == last.label
    }
    planned, known = dict(stands), {(row["sku"], row["site"]): 0 for row in plan["tables"]["fleet"]}
    reported = {one.of: one for one in actuals if one.measure == "nodes"}  # the last month of each
    for of, found in reported.items():
        meant = [group for group in known if of in (group[0], "/".join(group))]
        groups = [group for group in meant if group in stands] or meant  # nodes may come early
        if len(groups) > 1:
            raise InputError(
                f"{found.where}: {of} stands at several sites: say how many at each, by rows such as "
                f"{found.month},nodes,{'/'.join(groups[0])},{number_text(found.value)}"
            )
        stands |= {group: int(found.value) for group in groups}
    for row in plan["tables"]["purchases"]:
        if row["arrives"] == last.after.isoformat():
            group = row["sku"], row["site"]
            early = max(stands.get(group, 0) - planned.get(group, 0), 0)
            coming = max(int(row["nodes"]) - early, 0)
            stands[group] = stands.get(group, 0) + coming
            notes.append(
                f"{row['sku']} at {row['site']}: {coming} nodes that the plan orders by "
                f"{row['order_by']} come on {row['arrives']}, and stand in the scenario: take them out where "
                "the order was not placed"
            )
    rows = read_toml(text, name).get("fleet", [])
    edited: dict[int, Mapping[str, Any]] = {}
    removed, added = list[int](), list[Mapping[str, Any]]()
    for (sku, site), nodes in stands.items():
        mine = [number for number, row in enumerate(rows) if (row["sku"], row["site"]) == (sku, site)]
        over = sum(int(rows[number]["nodes"]) for number in mine) - nodes
        if over and mine:
            notes.append(f"{sku} at {site}: {nodes} nodes stand")
        for number in mine:  # the first is the oldest, as a plan sells
            gone = min(max(over, 0), int(rows[number]["nodes"]))
            over -= gone
            if gone == int(rows[number]["nodes"]):
                removed.append(number)
            elif gone:
                edited[number] = {"nodes": int(rows[number]["nodes"]) - gone}
        if over < 0:
            added.append(
                {"sku": sku, "site": site, "nodes": -over, "in_service": _arrived(plan, sku, site, last)}
            )
            notes.append(f"{sku} at {site}: {-over} nodes have come")
    for number, row in enumerate(rows):
        if (row["sku"], row["site"]) not in stands:
            removed.append(number)
            notes.append(f"{row['sku']} at {row['site']}: none stands any more")
    return with_rows(text, name, "fleet", edited=edited, added=added, removed=removed).text


def _on_order(plan: Record, start: date) -> Iterator[str]:
    """What the plan has begun by now and the scenario cannot know.

    Nodes that come later, batteries and cells that are up, and terms.
    """
    for row in plan["tables"]["purchases"]:
        if date.fromisoformat(row["order_by"]) < start < date.fromisoformat(row["arrives"]):
            yield (
                f"{row['sku']} at {row['site']}: {number_text(row['nodes'])} nodes that the plan orders by "
                f"{row['order_by']} come on {row['arrives']}: the scenario from here does not know of the "
                "order and may place it again"
            )
    for row in plan["tables"].get("installations", []):
        if date.fromisoformat(row["ready_by"]) < start:
            cells = "solar_kw" in row
            amount = f"{number_text(row['solar_kw' if cells else 'battery_kwh'])} {'kW' if cells else 'kWh'}"
            do = "state them as solar, less of solar_more" if cells else "no key says that one stands"
            yield (
                f"{row['site']}: {amount} of {row['what']} that the plan puts up by {row['ready_by']}: the "
                f"scenario from here does not know of it and may buy it again ({do})"
            )
    began = {period.label for period in periods_of(plan) if period.first < start}
    for row in plan["tables"].get("commitments", []):
        if row["period"] in began and row["ends"] > start.isoformat() and not row["signed"]:
            yield (
                f"{row['location']}: {number_text(row['nodes'])} nodes that the plan reserves in "
                f"{row['period']} are paid until {row['ends']}: state them by signed = true and starts"
            )


def _arrived(plan: Record, sku: str, site: str, last: Period) -> date:
    """Since when the nodes that have come work: their order's arrival, else the period's first day."""
    days = [
        date.fromisoformat(row["arrives"])
        for row in plan["tables"]["purchases"]
        if (row["sku"], row["site"]) == (sku, site) and date.fromisoformat(row["arrives"]) <= last.after
    ]
    return max(days, default=last.first)


def _runs(
    text: str, name: str, plan: Record, actuals: Sequence[Actual], start: date, notes: list[str]
) -> str:
    """Training runs: what is done is left out, of the rest the tokens or samples that remain.

    Raises:
        InputError: a run that the plan has begun, and whose share done nobody states; a share of what is no
            run, or of one whose tokens follow from a wanted loss.
    """
    rows = read_toml(text, name).get("training", [])
    reported = {one.of: one for one in actuals if one.measure == "done_fraction"}  # the last month of each
    done = {of: one.value for of, one in reported.items()}
    if others := sorted(done.keys() - {row["name"] for row in rows}):
        raise InputError(
            f"{', '.join(others)}: done_fraction is of a training job, and the scenario has none"
        )
    begun = {row["job"] for row in plan["tables"].get("jobs", []) if date.fromisoformat(row["start"]) < start}
    if unknown := sorted((begun & {row["name"] for row in rows}) - done.keys()):
        raise InputError(
            f"{', '.join(unknown)}: began by the plan: say how far, by a row such as "
            f"{start - timedelta(days=1):%Y-%m},done_fraction,{unknown[0]},0.6"
        )
    edited: dict[int, Mapping[str, Any]] = {}
    removed = []
    for number, row in enumerate(rows):
        share = done.get(row["name"], 0.0)
        if share >= 1.0:
            removed.append(number)
            notes.append(f"{row['name']}: is done")
            continue
        cells: dict[str, Any] = {}
        if share:
            stated = next((key for key in ("tokens", "samples") if key in row), None)
            if stated is None:
                raise InputError(
                    f"{row['name']}: its tokens follow from a wanted loss: state `tokens` for what is left"
                )
            cells[stated] = float(written_text(float(row[stated]) * (1 - share), 6))
            notes.append(f"{row['name']}: {percent_text(1 - share)} of its {stated} are left")
            if (month := reported[row["name"]].month) < f"{start - timedelta(days=1):%Y-%m}":
                notes[-1] += f", as of {month}: what it does from then to {start} is not counted"
        if row["deadline"] <= start:
            notes.append(f"{row['name']}: its deadline, {row['deadline']}, has passed: state a later one")
        if "earliest" in row and row["earliest"] < start:
            cells["earliest"] = start
        if cells:
            edited[number] = cells
    return with_rows(text, name, "training", edited=edited, removed=removed).text if rows else text


def _holds(period: Period, month: str) -> bool:
    return f"{period.first:%Y-%m}" <= month < f"{period.after:%Y-%m}"
