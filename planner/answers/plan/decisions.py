"""Numbers of a plan's tables that no equation gives: decided, found by another search, or played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.report.table_columns import meaning_of
from planner.trace.quantities import Chosen
from planner.trace.records import Record, is_number
from planner.trace.units import unit_of

DECIDED = "decided by the program"
BEST_ELSEWHERE = "solved separately, its decisions are not kept in the document"
OTHER = "another plan, solved after this one: as unlike it as can be within the excess that was allowed"
WITHIN = "another plan within the gap, solved after this one with one of its choices left out"
MOVED = "objective of the best plan with so much {side} of this limit, solved again, less that of this plan"
STEP = "the step by which the limit is moved: about the size of one order"
ENDS = "the true change, at the {end}: both plans are the best only within the gap of their search"
PLAYED = "found by playing the requests of the period one by one"
ON_HOURS = "on the hours of the plan, by `carbon.market.scope_two`"
CLOSED = "by the closed form that the plan is made with"

# States of nodes in a slot that the plan decides; the rest are idle.
DECIDED_STATES = ("awake_nodes", "quiet_nodes", "lent_nodes", "pool_nodes", "job_nodes", "off_nodes")
SITE_ENERGY = (
    "battery_kwh",
    "solar_bought_kw",
    "charged_kwh",
    "given_back_kwh",
    "load_kwh",
    "import_kwh",
    "solar_kwh",
    "spilled_kwh",
    "peak_kw",
    "dark_peak_kw",
    "matched_year_fraction",
    "matched_hour_fraction",
)
CLEAN_ENERGY = (
    "load_kwh",
    "matched_kwh",
    "matched_hour_kwh",
    "matched_period_fraction",
    "matched_hour_fraction",
    "location_kgco2e",
    "market_kgco2e",
    "hourly_kgco2e",
)

# Table -> column -> what the number is; {name} is what the row says under that name.
REASONS: Mapping[str, Mapping[str, str]] = {
    "summary": {
        "plan": "counted over this plan",
        "cost_only": f"the cheapest plan within the same limits, whatever it emits: {BEST_ELSEWHERE}",
        "no_purchases": f"the best plan that keeps the same limits and buys nothing: {BEST_ELSEWHERE}",
        "usual_practice": "the cheapest plan as operators usually make it, its own options worked out: "
        f"{BEST_ELSEWHERE}",
        "keep_everything": "the best plan that keeps the same limits, and every node to the end of its life: "
        f"{BEST_ELSEWHERE}",
    },
    "actions": {
        "nodes": f"{DECIDED}: orders, sales, moves and rents of the tables with those names",
    },
    "purchases": {
        "order_units": f"{DECIDED}: orders of this period, within the supply of the SKU and the budget",
    },
    "installations": {
        name: f"{DECIDED}: as much as pays, within sites.{{site}}.{key} and the budget"
        for name, key in (("battery_kwh", "battery"), ("solar_kw", "solar_more"))
    },
    "moves": {"nodes": f"{DECIDED}: standing nodes of that site, within its power and racks at both ends"},
    "rental": {
        "node_h": f"{DECIDED}: hours in which runs, replicas and other work are on rented nodes, within the "
        "offer, and of the parts of nodes that replicas leave",
        "nodes": "the most that are held at once, whole: at least node_h over the hours of the period",
    },
    "fleet": {
        "under_way_nodes": f"{DECIDED}: moved nodes, for the share of the period before they arrive",
        "parked_nodes": f"{DECIDED}: idle nodes that are switched off, over the hours of the period",
        "spare_nodes": "the fewest that cover the nodes under repair with the confidence that is wanted "
        "(reliability.spare_confidence), for so many nodes in use, and with standby replicas the "
        "availability of services (services.{service}.availability); 0 where nothing is held",
        "retired_nodes": f"{DECIDED}: nodes sold or scrapped, at the end of their life at the latest",
    },
    "jobs": {
        "nodes": f"{DECIDED}: one of the sizes that the scenario names (training.{{job}}.nodes), done by its "
        "deadline",
        "count": f"{DECIDED}: runs of the job in this way; all ways together are training.{{job}}.count",
        "power_cap_fraction": f"{DECIDED}: one of the power caps that the scenario names "
        "(training.{job}.power_caps)",
        "clock_fraction": f"{DECIDED}: one of the clocks that the scenario names (training.{{job}}.clocks)",
    },
    "pausable": {
        "power_cap_fraction": f"{DECIDED}: one of the power caps that the scenario names "
        "(training.{job}.power_caps)",
        "clock_fraction": f"{DECIDED}: one of the clocks that the scenario names (training.{{job}}.clocks)",
        "most_nodes": f"{DECIDED}: one of the sizes that the scenario names (training.{{job}}.nodes)",
        "node_h": f"{DECIDED}: hours of this period, at most those of most_nodes; all periods do the job",
    },
    "services": {
        "tensor_parallel": f"{DECIDED}: accelerators that share a layer; the model fits and answers in time",
        "groups": f"{DECIDED}: groups of such accelerators in a replica",
        "stages": f"{DECIDED}: stages in a row that hold the layers; links or memory ask for them",
        **{
            f"{kind}_{what}": f"{DECIDED}: the best ratio of a unit of its size"
            for kind in ("prefill", "decode")
            for what in ("replicas", "accelerators")
        },
        "power_cap_fraction": f"{DECIDED}: one of the power caps that the scenario names "
        "(services.{service}.power_caps)",
        "clock_fraction": f"{DECIDED}: one of the clocks that the scenario names "
        "(services.{service}.clocks)",
        "replicas": f"{DECIDED}: with the other rows of the period they carry the peak, standby not counted",
        "standby": "replicas beyond those that carry, for those that restart after a failure; with the "
        "spares of the node group enough are up for services.{service}.availability",
        "time_fraction": f"{DECIDED}: steps of the response time that a stage takes; those of all stages of "
        "a pipeline add up to no more than all of it",
        "requests_fraction": f"{DECIDED}: they go to what loses least first, as far as it carries the peak",
    },
    "hours": {
        **{name: meaning_of("hours", name) for name in ("day_type", "days")},
        **{name: f"{DECIDED}: {meaning_of('hours', name)}" for name in DECIDED_STATES},
    },
    "site_energy": {name: f"{DECIDED}: {meaning_of('site_energy', name)}" for name in SITE_ENERGY},
    "clean_energy": {name: f"{meaning_of('clean_energy', name)}: {ON_HOURS}" for name in CLEAN_ENERGY},
    "pools": {
        "node_h": f"{DECIDED}: hours of the period on free nodes; all rows do the pool's work",
        "power_cap_fraction": f"{DECIDED}: one of the power caps that the scenario names "
        "(pools.{pool}.power_caps)",
        "clock_fraction": f"{DECIDED}: one of the clocks that the scenario names (pools.{{pool}}.clocks)",
    },
    "chance": {
        "needed": "what the scenario asks for: the peak of a service, hours of a pool, hours to a deadline",
        "provided": "what the plan provides: replicas that carry, hours on the nodes of the pool and on free "
        "ones, hours until the run is as likely done as not",
        "headroom_fraction": "provided over needed, less one; of a deadline needed over provided",
        "delivery_fraction": "chance that all that arrives for it in the period is there from its first day",
    },
    "stress": {"short_nodes": "the most nodes that are short at once, of all node groups together"},
    "recourse": {"added_nodes": "the most nodes at once beyond those of the plan, whole"},
    "prices": {
        "relaxed_saving_per_unit": "price of the limit where counts may be fractions: by how much "
        "the objective falls for one more unit of it",
        "held_saving_per_unit": "price of the limit with the whole numbers of the plan held: only divisible "
        "work follows the limit",
        **{
            f"{side}_{what}": text.format(side=side)
            for side in ("more", "less")
            for what, text in (
                ("by", STEP),
                ("change", MOVED),
                ("least", ENDS.format(end="least")),
                ("most", ENDS.format(end="most")),
            )
        },
    },
    "alternatives": {
        "alternative": "its number, in the order of the searches",
        "cost_usd": OTHER,
        "carbon_kgco2e": OTHER,
        "nodes_bought": OTHER,
        "distance_fraction": "share of the decisions on the fleet that differ from the nearest plan before",
    },
    "ties": {
        "tie": "its number, the nearest first",
        "cost_usd": WITHIN,
        "carbon_kgco2e": WITHIN,
        "changes": "orders, terms, sales, retirements and moves by row and period, and rows of rents",
    },
    "alternatives_dropped": {"count": "configurations that were left out for this reason"},
    "verification": {
        **{f"simulated_p{q}_s": PLAYED for q in (50, 90, 99)},
        **{f"closed_p{q}_s": CLOSED for q in (50, 90, 99)},
        "off_fraction": "the P99 of the plan less the one played, as a share of that",
        "in_time_fraction": PLAYED,
        "closed_in_time_fraction": CLOSED,
    },
    "clash": {
        "by": "the least by which this limit has to give way, with the others of its family",
        "share_fraction": "of the limit as the scenario states it",
    },
    "tornado": {
        **{end: f"the {end} end of the range of this fact" for end in ("low", "high")},
        **{
            end: f"the objective with this fact at its {end.removeprefix('at_')} end; decisions stay"
            for end in ("at_low", "at_high")
        },
    },
}


def reason_of(table: str, key: str, row: Record) -> str | None:
    """What a number of a row is; None where nothing is known of it."""
    found, names = REASONS.get(table, {}).get(key), ("job", "service", "pool", "site")
    return found and found.format_map({name: row.get(name, "") for name in names})


def decided(table: str, key: str, row: Record, value: float | None = None, name: str = "") -> Chosen:
    """A number of a row as one that an equation may rest on."""
    about = reason_of(table, key, row)
    assert about is not None, (table, key)
    held = row[key] if value is None else value
    return Chosen(held, unit_in(table, key, row), name=name or key, reason=about)


def with_reasons(tables: Mapping[str, Sequence[Record]]) -> dict[str, list[Record]]:
    """Tables in which a number that no equation gives says what it is."""
    return {
        name: [
            {
                key: decided(name, key, row) if _has_reason(name, key, row) else held
                for key, held in row.items()
            }
            for row in rows
        ]
        for name, rows in tables.items()
    }


def _has_reason(table: str, key: str, row: Record) -> bool:
    return is_number(row[key]) and reason_of(table, key, row) is not None


def unit_in(table: str, key: str, row: Record) -> str:
    """The unit of a number of a row: of its column, or of its row where that names one."""
    if key.endswith("_fraction"):
        return "1"
    if table == "prices":
        return str(row["unit" if key.endswith("_by") else "saving_unit"])
    if key.startswith("at_"):
        return str(row["at_unit"])
    own = row["unit"] if table in ("summary", "limits", "clash", "tornado") else unit_of(key)
    return "1" if own == "nodes" else str(own)
