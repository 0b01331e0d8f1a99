"""Where the numbers of the work come from: training jobs, pausable jobs, services and pools."""

from __future__ import annotations

from collections.abc import Callable

from planner.answers.plan.cells.horizon import hours_of
from planner.inputs.scenario import Scenario
from planner.report.cells import (
    Cell,
    Number,
    close,
    fact,
    kept,
    kept_for,
    rows_of,
    stated,
    term_of,
    value_of,
    within,
)
from planner.trace.errors import InputError
from planner.trace.explain import Explanation

Below = dict[str, Number | Explanation]
MINUTES_PER_H = 60


def jobs(cell: Cell) -> Number | Explanation | None:
    """How a job runs, and what that takes."""
    job = cell.row["job"]
    match cell.key:
        case "nodes":
            return cell.decided(
                f"one of the sizes that the scenario names (training.{job}.nodes), done by its deadline",
                _kept(cell, deadline_met="finish"),
            )
        case "count":
            return cell.decided(f"runs of the job in this way; all ways together are training.{job}.count")
        case "power_cap_fraction":
            return cell.decided(f"one of the power caps that the scenario names (training.{job}.power_caps)")
        case "tokens_per_s":
            return _tokens_per_s(cell)
        case "ettr_fraction":
            return kept_for(cell.document, f"job.{job}.ettr", cell.value) or _not_kept(cell)
        case "interval_min":
            return _interval(cell)
        case "energy_kwh":
            return _run_energy(cell)
        case "carbon_kgco2e":
            return _from_energy(cell, "grid_kgco2e_per_kwh", "kgCO2e/kWh", "carbon.training")
        case "energy_usd":
            return _from_energy(cell, "electricity_usd_per_kwh", "USD/kWh", "cost.training")
    return None


def _kept(cell: Cell, **names: str) -> Below:
    """Kept explanations of the job, where there are."""
    found = {name: kept(cell.document, f"job.{cell.row['job']}.{of}") for name, of in names.items()}
    return {name: one for name, one in found.items() if one is not None}


def _not_kept(cell: Cell) -> Number:
    return cell.number(about="the plan keeps the explanation of another way in which this job runs")


def _tokens_per_s(cell: Cell) -> Number:
    duration = f"job.{cell.row['job']}.duration"
    each = within(cell.document, [duration], "tokens_per_s_per_gpu")
    accelerators = within(cell.document, [duration], "accelerators_in_use")
    if each is None or accelerators is None or not close(value_of(each) * value_of(accelerators), cell.value):
        return _not_kept(cell)
    return cell.number(
        "tokens_per_s_per_gpu * accelerators",
        about="without failures; with them it is as much times the ETTR",
        inputs={"tokens_per_s_per_gpu": each, "accelerators": accelerators},
    )


def _interval(cell: Cell) -> Number:
    hours = kept_for(cell.document, f"job.{cell.row['job']}.interval", cell.value / MINUTES_PER_H)
    if hours is None:
        return _not_kept(cell)
    minutes = Number("minutes_per_h", MINUTES_PER_H, kind="definition")
    return cell.number("interval_h * minutes_per_h", inputs={"interval_h": hours, "minutes_per_h": minutes})


def _run_energy(cell: Cell) -> Number:
    """Power of its nodes in the hours that it is expected to need, and the cooling of them."""
    row, document = cell.row, cell.document
    duration = kept(document, f"job.{row['job']}.duration")
    pue = pue_of(cell, row["site"])
    about = "nodes at their mean power, for the expected hours of the run, with the cooling and supply"
    if duration is None or pue is None:
        return cell.number(about=about, inputs=term_of(cell.document, "energy.training"))
    hours = value_of(duration)
    node_kw = cell.value / (row["nodes"] * hours * value_of(pue))
    power = within(document, ["energy.training"], "mean_node_kw", node_kw) or cell.part(
        "mean_node_kw",
        node_kw,
        "kW",
        inputs=term_of(cell.document, "energy.training"),
        about="over the states of the run: working, writing checkpoints, restarting; 0 after the horizon",
    )
    nodes = cell.other("nodes").decided("a size that the scenario names")
    return cell.number(
        "nodes * mean_node_kw * duration_h * pue",
        about,
        {"nodes": nodes, "mean_node_kw": power, "duration_h": duration, "pue": pue},
    )


def _from_energy(cell: Cell, name: str, unit: str, term: str) -> Number:
    """Its energy at the price or the carbon of the hours in which it runs."""
    kwh = cell.row["energy_kwh"]
    value = cell.value / kwh if kwh else 0.0
    each = within(cell.document, [term], name, value) or cell.part(
        name,
        value,
        unit,
        inputs=term_of(cell.document, term),
        about="of the site, mean over the periods in which the run draws its energy; the total of the term "
        "below opens its largest row",
    )
    energy = _run_energy(cell.other("energy_kwh"))
    return cell.number(f"energy_kwh * {name}", inputs={"energy_kwh": energy, name: each})


def pue_of(cell: Cell, site: str) -> Number | None:
    """Energy at the meter for one of the computers: as stated, else as the plan's own energy shows it."""
    for row in rows_of(cell.document, "energy", site=site):
        if row["it_kwh"]:
            value = (row["it_kwh"] + row["overhead_kwh"]) / row["it_kwh"]
            for key in (f"scenario.sites.{site}.pue", f"scenario.rental.{site}.pue", "rental.pue"):
                if (found := fact(cell.document, key, value)) is not None:
                    return found
            return stated(cell.document, f"sites.{site}.pue", value)
    return None


def pausable(cell: Cell) -> Number | Explanation | None:
    """How much of a job is done when."""
    row, document = cell.row, cell.document
    name = f"job.{row['job']}"
    match cell.key:
        case "most_nodes":
            return cell.decided(f"one of the sizes that the scenario names (training.{row['job']}.nodes)")
        case "node_h":
            return cell.decided(
                "hours of this period, at most those of most_nodes; all periods together do the job",
                _kept(cell, needed_node_h="node_hours"),
            )
        case "mean_nodes":
            hours = Number("period_h", hours_of(document, row["period"]), "h", about="hours of the period")
            return cell.number("node_h / period_h", inputs=_hours(cell) | {"period_h": hours})
        case "done_fraction":
            needed = kept_for(document, f"{name}.node_hours", _ratio(row["node_h"], cell.value))
            if needed is None:
                return _not_kept(cell)
            return cell.number("node_h / needed_node_h", inputs=_hours(cell) | {"needed_node_h": needed})
        case "energy_kwh":
            value = _ratio(cell.value, row["node_h"])
            each = within(document, ["energy.pausable"], "each_kwh", value) or cell.part(
                "kwh_per_node_h",
                value,
                "kWh",
                inputs=term_of(cell.document, "energy.pausable"),
                about="mean power of a node of the job for an hour, with the cooling and supply",
            )
            return cell.number("node_h * kwh_per_node_h", inputs=_hours(cell) | {"kwh_per_node_h": each})
    return None


def _hours(cell: Cell) -> Below:
    node_h = pausable(cell.other("node_h"))
    assert node_h is not None
    return {"node_h": node_h}


def _ratio(one: float, other: float) -> float:
    return one / other if other else 0.0


def services(cell: Cell) -> Number | Explanation | None:
    """How a service is carried."""
    service = cell.row["service"]
    match cell.key:
        case "tensor_parallel":
            return cell.decided("accelerators of one replica, on which the model fits and answers in time")
        case "power_cap_fraction":
            return cell.decided(
                f"one of the power caps that the scenario names (services.{service}.power_caps)"
            )
        case "replicas":
            return cell.decided(
                "with those of the other rows of the period they carry the peak demand, standby not counted"
            )
        case "standby":
            return cell.number(
                about="replicas beyond those that carry, so that enough are up for the share of time "
                f"that the scenario asks for (services.{service}.availability)",
                inputs={"replicas": _replicas(cell)},
            )
        case "capacity_per_s":
            return _capacity(cell)
        case "demand_per_s":
            return _demand(cell)
        case "first_token_s" | "per_token_s":
            return _answering(cell)
    return None


def _capacity(cell: Cell) -> Number:
    """What replicas carry, each as much."""
    value = _ratio(cell.value, cell.row["replicas"])
    rate = _replica(cell, "requests_per_s", value) or cell.part(
        "requests_per_s",
        value,
        "1/s",
        about="of one replica within its times to answer: step time and queue of this SKU and split",
    )
    return cell.number(
        "replicas * requests_per_s", inputs={"replicas": _replicas(cell), "requests_per_s": rate}
    )


def _demand(cell: Cell) -> Number:
    """The peak of the period, as the scenario states it."""
    number = cell.document["horizon"]["periods"].index(cell.row["period"])
    path = f"services.{cell.row['service']}.peak_rate"
    of_period = fact(cell.document, f"scenario.{path}[{number}]", cell.value)
    return of_period or cell.given(path, "the peak of this period")


def _replicas(cell: Cell) -> Number | Explanation:
    found = services(cell.other("replicas"))
    assert found is not None
    return found


def _replica(cell: Cell, part: str, value: float) -> Explanation | None:
    """A number of one replica, worked out again from the scenario where that is at hand."""
    from planner.answers.plan.cells.again import replica_explanation

    return _again(cell, lambda scenario: replica_explanation(scenario, cell.row, part, value))


def _answering(cell: Cell) -> Number | Explanation:
    """A time to answer at the load for which the replica is sized, with the limit that it keeps."""
    part = "ttft_s" if cell.key == "first_token_s" else "tpot_s"
    if (found := _replica(cell, part, cell.value)) is not None:
        return found
    name = cell.key.removesuffix("_s")
    limit = fact(cell.document, f"scenario.services.{cell.row['service']}.{name}")
    what = (
        "to the first token, waiting and reading included"
        if name == "first_token"
        else "for each token after it"
    )
    return cell.number(
        about=f"{what}, at the load that a replica is sized for; at most the limit of the scenario",
        inputs={} if limit is None else {"limit_s": limit},
    )


def _speed(cell: Cell, value: float) -> Explanation | None:
    from planner.answers.plan.cells.again import speed_explanation

    return _again(cell, lambda scenario: speed_explanation(scenario, cell.row, value))


def _again(cell: Cell, explained: Callable[[Scenario], Explanation | None]) -> Explanation | None:
    """What the scenario says, if it is at hand and this everfleet still takes it."""
    if cell.scenario is None:
        return None
    try:
        with cell.scenario() as scenario:
            return explained(scenario)
    except InputError:
        return None


def pools(cell: Cell) -> Number | Explanation | None:
    """Divisible work on the nodes of a pool."""
    row = cell.row
    match cell.key:
        case "node_h":
            return cell.decided(
                "hours of the period, within the nodes that are free; all rows do the pool's work"
            )
        case "reference_h":
            value = _ratio(cell.value, row["node_h"])
            speed = _speed(cell, value) or cell.part(
                "speed",
                value,
                about="work of an hour of this SKU in hours of the reference node: the ratio "
                "of their tokens/s for the pool's model",
            )
            node_h = pools(cell.other("node_h"))
            assert node_h is not None
            return cell.number("node_h * speed", inputs={"node_h": node_h, "speed": speed})
    return None
