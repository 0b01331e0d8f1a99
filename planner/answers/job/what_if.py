"""What would change a job's carbon: the same footprint worked out again with one thing different."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from planner.answers.job.equations import WHOLE, change_fraction, change_kgco2e
from planner.answers.job.federated import federated_variants
from planner.answers.job.footprint import Change, Footprint, footprint_of, variant
from planner.answers.job.inference import on_each_sku
from planner.answers.job.setting import Setting
from planner.answers.job.shifting import hour_changes
from planner.answers.job.techniques import techniques_that_apply, turns
from planner.answers.job.work import Phase
from planner.inputs.catalogue import Catalogue
from planner.inputs.job.schema_work import Inference, Work
from planner.trace.errors import InputError
from planner.trace.numbers import number_text, percent_text
from planner.trace.quantities import Call, Derived, Fact, Pick, Rows, Traced, TraceError, derive, pick, rows
from planner.trace.records import Record
from planner.trace.uncertainty import tornado
from reliability.checkpoint import objective_optimal_interval_h

_ROUNDING = 1e-9  # of the carbon of a job: what sums of hours in another order differ by


def changes_of(footprint: Footprint) -> list[Record]:
    """Region, SKU, checkpoint interval, utilisation and lifetime, each with what it adds or takes away."""
    return [_row(footprint, change) for change in changes_found(footprint)]


def changes_found(footprint: Footprint) -> Iterator[Change]:
    """The changes that make a difference, one after the other, each as it is requested.

    Techniques that apply and would change nothing are listed, too.
    """
    before = float(footprint.carbon.value)
    found = chain(
        _regions(footprint),
        hour_changes(footprint),
        _skus(footprint),
        _interval(footprint),
        _federated(footprint),
        _utilisation(footprint),
        _lifetime(footprint),
    )
    different = (
        change
        for change in found
        if not math.isclose(float(change.carbon.value), before, rel_tol=_ROUNDING, abs_tol=0.0)
    )
    return chain(different, _techniques(footprint))


def _row(footprint: Footprint, change: Change) -> Record:
    """One thing different, and what it does to the total."""
    said = f"with {change.what} {change.then} in place of {change.now}"
    return {
        "what": change.what,
        "from": change.now,
        "to": change.then,
        **against(footprint, change.carbon.named("job_kgco2e", said)),
        "note": change.note,
    }


def against(footprint: Footprint, then: Traced) -> dict[str, Traced]:
    """The job otherwise, and what that differs by from the job."""
    both = {"then_kgco2e": then, "now_kgco2e": footprint.carbon}
    return {
        "kgco2e": then,
        "change_kgco2e": derive(change_kgco2e, WHOLE, **both),
        "change_fraction": derive(change_fraction, WHOLE, **both),
    }


def swings_of(footprint: Footprint, most: int) -> list[Record]:
    """The facts that move the job most, and the job with each at the ends of its range."""
    carbon = footprint.carbon
    rows = []
    for swing in tornado(carbon, most=most):
        low, high = (_at(swing.fact, end) for end in ("low", "high"))
        rows.append(
            {
                "fact": swing.fact.key,
                "low": low,
                "high": high,
                "at_low": _supposed_at(carbon, low, "low"),
                "at_high": _supposed_at(carbon, high, "high"),
                "at_unit": carbon.unit,
                "unit": swing.fact.unit,
            }
        )
    return rows


def _supposed_at(carbon: Traced, end: Fact, which: str) -> Traced:
    return on_other_facts(carbon, {end.key: end}).named("job_kgco2e", f"with {end.key} at its {which} end")


def _at(fact: Fact, end: str) -> Fact:
    value = fact.low if end == "low" else fact.high
    note = f"the {end} end of its range; {fact.note}".rstrip("; ")
    return replace(fact, value=float(value or 0), note=note)


def _regions(footprint: Footprint) -> Iterator[Change]:
    """The cleanest and the dirtiest region whose factor means the same, with the same hardware and PUE."""
    setting = footprint.setting
    site = setting.job.site
    if site.grid is None or setting.hours is not None:
        return
    signal = footprint.operational.boundary.get("grid", "")
    alike = [
        name
        for name in setting.catalogue.names("grid", "intensity")
        if setting.fact(f"grid.{name}.intensity").boundary.get("grid", "") == signal
    ]

    def intensity(name: str) -> float:
        moved = replace(setting, job=setting.job.but(site=site.but(grid=name)))
        return float(moved.grid().value)

    for name in (min(alike, key=intensity), max(alike, key=intensity)):
        changed = variant(setting, site=site.but(grid=name))
        note = f"of {len(alike)} regions counted as {signal}"
        yield Change("region", site.grid, name, changed.carbon, note)


def _skus(footprint: Footprint) -> Iterator[Change]:
    """Other nodes for the same tokens: the best and the worst of those on which the model fits."""
    setting = footprint.setting
    predicted = [
        phase
        for phase in footprint.phases
        if phase.name in ("training", "fine_tuning", "inference")
        and getattr(getattr(setting.job, phase.name), "model", None) is not None
    ]
    for phase in predicted:
        assert phase.done is not None, "work has nodes"
        others = [name for name in setting.catalogue.sold if name != phase.done.sku]
        trial, table = setting, getattr(setting.job, phase.name)
        if isinstance(table, Inference) and table.tokens_per_s is None:
            trial, others = on_each_sku(setting, table, others)
        tried = {name: _total(one) for name in others if (one := _on_sku(trial, phase, name)) is not None}
        if not tried:
            continue
        ranked = sorted(tried, key=lambda name: tried[name])
        for name in dict.fromkeys((ranked[0], ranked[-1])):
            note = f"of {len(tried)} other SKUs on which it fits, as many accelerators"
            what = f"SKU of {phase.name.replace('_', '-')}"
            changed = _on_sku(setting, phase, name)
            assert changed is not None, "it fits"
            yield Change(what, phase.done.sku, name, changed.carbon, note)


def _on_sku(setting: Setting, phase: Phase, name: str) -> Footprint | None:
    """The job with one phase on other nodes, as many accelerators of them; None where it does not fit."""
    table = getattr(setting.job, phase.name)
    if isinstance(table, Work):
        assert phase.done is not None, "work has nodes"
        have, want = (
            setting.fact(f"server.{setting.catalogue.skus[sku].server}.accelerators").value
            for sku in (phase.done.sku, name)
        )
        nodes = max(1, round((table.nodes or 1) * have / want))
        table = table.but(sku=name, nodes=nodes)
    else:
        table = table.but(sku=name)
    try:
        return variant(setting, **{phase.name: table})
    except (InputError, TraceError):
        return None


def _interval(footprint: Footprint) -> Iterator[Change]:
    """Checkpoints at the interval of least carbon: an hour weighs what it draws and what its nodes carry."""
    setting, training = footprint.setting, footprint.phase("training")
    if training is None or training.done is None or training.done.states is None:
        return
    states = training.done.states
    assert setting.job.training is not None, "training is stated"
    assert training.embodied is not None, "training has nodes"
    assert training.grid is not None, "training draws power"
    each_h = float(setting.pue.value) * float(training.grid.value)
    carried = float(training.embodied.value) / float(training.done.node_h.value)

    def weight(power: str) -> float:
        return float(states.powers[power].value) * each_h + carried

    whole = weight("training_kw")
    renewal = {name: float(node.value) for name, node in states.renewal.items() if name != "interval_h"}
    best_h = float(
        objective_optimal_interval_h(
            **renewal,
            work_weight_factor=1.0,
            write_weight_factor=weight("checkpoint_kw") / whole,
            restart_weight_factor=weight("restart_kw") / whole,
        )
    )
    changed = variant(setting, training=setting.job.training.but(interval_h=best_h))
    now_h = float(states.renewal["interval_h"].value)
    stated = "as stated" if setting.job.training.interval_h is not None else "now that of least time"
    yield Change("checkpoint interval", _minutes(now_h), _minutes(best_h), changed.carbon, stated)


def _federated(footprint: Footprint) -> Iterator[Change]:
    """Levers of a federated job."""
    setting = footprint.setting
    stated = setting.job.federated
    for what, now, then, changed, note in () if stated is None else federated_variants(setting, stated):
        moved = variant(setting, federated=changed)
        yield Change(what, now, then, moved.carbon, note)


def _techniques(footprint: Footprint) -> Iterator[Change]:
    """Each published technique that applies, and what its range would make of it."""
    setting, before = footprint.setting, float(footprint.carbon.value)
    for technique, phases in techniques_that_apply(setting):
        what = f"technique in {' and '.join(name.replace('_', '-') for name in phases)}"
        keys = turns(setting, technique, phases)
        if not keys:
            said = f"no effect on carbon here: it changes {' and '.join(technique.handles)}"
            yield Change(what, "without", technique.name, footprint.carbon, said)
            continue
        using = replace(setting, techniques=(technique.name,), as_stated=setting.as_stated or setting.job)
        try:
            changed = footprint_of(using)
        except (InputError, TraceError):
            continue
        facts = [setting.fact(key) for key in keys]
        least, most = (
            float(on_other_facts(changed.carbon, {fact.key: _at(fact, end) for fact in facts}).value) / before
            - 1.0
            for end in ("low", "high")
        )
        span = " to ".join(percent_text(end, 1, sign=True) for end in (least, most))
        said = "no effect" if least == most == 0 else f"{span} by its range"
        yield Change(what, "without", technique.name, changed.carbon, f"{said}; {technique.quality}")


def _utilisation(footprint: Footprint) -> Iterator[Change]:
    """Nodes that stand idle less, or more: both ends of the catalogue's range."""
    hardware = footprint.setting.job.hardware
    now = hardware.utilisation_fraction or footprint.setting.fact("embodied.utilisation").value
    for end in _ends(footprint.setting.catalogue, "embodied.utilisation"):
        changed = variant(footprint.setting, hardware=hardware.but(utilisation_fraction=end))
        yield Change("share of its life in use", percent_text(now, 0), percent_text(end, 0), changed.carbon)


def _lifetime(footprint: Footprint) -> Iterator[Change]:
    """Nodes kept longer, or less long: both ends of the catalogue's range."""
    hardware = footprint.setting.job.hardware
    now = hardware.lifetime_y or footprint.setting.fact("embodied.lifetime").value
    for end in _ends(footprint.setting.catalogue, "embodied.lifetime"):
        changed = variant(footprint.setting, hardware=hardware.but(lifetime_y=end))
        yield Change("life of the hardware", f"{now:g} y", f"{end:g} y", changed.carbon)


def _total(footprint: Footprint) -> float:
    return float(footprint.carbon.value)


def _ends(catalogue: Catalogue, key: str) -> tuple[float, ...]:
    fact = catalogue.fact(key)
    return tuple(end for end in (fact.low, fact.high) if end is not None)


def _minutes(hours: float) -> str:
    return f"{number_text(hours * 60, 3)} min"


def on_other_facts(node: Traced, facts: Mapping[str, Fact]) -> Traced:
    """The same number on other facts, by key; what was chosen (layouts, intervals) stays as it is."""
    return _Again(facts).node(node)


@dataclass(frozen=True)
class _Again:
    """Walks a number down to its facts; each node and each call is met once."""

    facts: Mapping[str, Fact]
    nodes: dict[int, Traced] = field(default_factory=dict)
    calls: dict[int, tuple[Call, object]] = field(default_factory=dict)

    def node(self, old: Traced) -> Traced:
        """The node on the other facts; itself where it rests on none of them."""
        if id(old) not in self.nodes:
            self.nodes[id(old)] = self._made(old)
        return self.nodes[id(old)]

    def _made(self, old: Traced) -> Traced:
        match old:
            case Fact():
                return self.facts.get(old.key, old)
            case Pick():
                items = tuple(self.node(item) for item in old.items)
                return old if _same(items, old.items) else pick(items, old.index)
            case Rows():
                column = self.node(old.column)
                return old if column is old.column else rows(column, old.index)
            case Derived():
                return self._derived(old)
        return old

    def _derived(self, old: Derived) -> Traced:
        inputs = {name: self.node(child) for name, child in old.call.inputs.items()}
        if _same(tuple(inputs.values()), tuple(old.call.inputs.values())):
            return old
        if id(old.call) not in self.calls:
            result = old.call.function(**{name: child.value for name, child in inputs.items()})
            self.calls[id(old.call)] = Call(old.call.function, inputs), result
        call, result = self.calls[id(old.call)]
        value = getattr(result, old.part) if old.part else result
        return Derived(value, old.unit, boundary=old.boundary, call=call, part=old.part)


def _same(new: tuple[Traced, ...], old: tuple[Traced, ...]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))
