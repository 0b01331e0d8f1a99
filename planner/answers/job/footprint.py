"""Carbon, energy and water of each phase of a job, and their sums, as traced numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from carbon.embodied import building_share_kgco2e, capacity_kgco2e, end_of_life_kgco2e, network_kgco2e
from carbon.ledger import footprint_kgco2e
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from carbon.water import offsite_water_l, onsite_water_l
from planner.answers.job.federated import federated_work
from planner.answers.job.inference import Answered, answered
from planner.answers.job.ingestion import fast_tier, stored_data, with_stalls, workers_of
from planner.answers.job.setting import Setting
from planner.answers.job.techniques import with_less, with_techniques
from planner.answers.job.work import Done, Phase, done_work, hours_done
from planner.inputs.job.schema import PHASES, Job
from planner.inputs.job.schema_work import Federated
from planner.physics.surroundings import fabric_kgco2e, fabric_kwh, held_copies, stored_kwh
from planner.trace.numbers import count_text, number_text, percent_text
from planner.trace.quantities import Traced, derive, total


@dataclass(frozen=True)
class Footprint:
    """A whole job."""

    setting: Setting
    phases: tuple[Phase, ...]
    answered: Answered | None
    operational: Traced
    embodied: Traced
    carbon: Traced
    it_kwh: Traced
    facility_kwh: Traced
    onsite_l: Traced
    offsite_l: Traced

    def phase(self, name: str) -> Phase | None:
        """A phase by name, where the job has it."""
        return next((one for one in self.phases if one.name == name), None)


@dataclass(frozen=True)
class Change:
    """One thing different: from what, to what, and the carbon of the job then."""

    what: str
    now: str
    then: str
    carbon: Traced
    note: str = ""


def footprint_of(setting: Setting) -> Footprint:
    """Every phase that the job states, and the sums over them."""
    job = setting.job
    work, given = _work(setting)
    phases = [_on_nodes(setting, name, done) for name, done in work.items()]
    if job.federated is not None:
        phases.append(with_less(setting, _federated(setting, job.federated)))
    if job.ingestion is not None:
        fed, said = workers_of(setting, work)
        made = setting.node_share_kgco2e(setting.server_kgco2e(setting.sku(fed.sku)), fed.node_h)
        phases.append(
            replace(_powered(setting, "ingestion", fed.it_kwh, setting.grid()), embodied=made, said=said)
        )
    if job.storage is not None:
        phases.append(with_less(setting, _storage(setting)))
    phases += _around(setting, phases)
    ordered = tuple(sorted(phases, key=lambda phase: PHASES.index(phase.name)))
    running = _sum("phases_kgco2e", {one.name: one.operational for one in ordered})
    made = _sum("phases_kgco2e", {one.name: one.embodied for one in ordered}, "embodied=job")
    it = _sum("phases_kwh", {one.name: one.it_kwh for one in ordered})
    facility = _sum("phases_kwh", {one.name: one.facility_kwh for one in ordered})
    return Footprint(
        setting,
        ordered,
        given,
        running,
        made,
        derive(footprint_kgco2e, operational_kgco2e=running, embodied_kgco2e=made),
        it,
        facility,
        derive(onsite_water_l, it_energy_kwh=it, onsite_l_per_kwh=setting.onsite_l_per_kwh),
        derive(offsite_water_l, facility_energy_kwh=facility, offsite_l_per_kwh=setting.offsite_l_per_kwh),
    )


def variant(setting: Setting, **tables: object) -> Footprint:
    """The footprint of the same job with other tables; predictions that do not change are kept."""
    job: Job = setting.job.but(**tables)
    return footprint_of(replace(setting, job=job, as_stated=setting.as_stated or setting.job))


def accelerator_hours_of(footprint: Footprint) -> Traced | None:
    """Accelerator-hours of all phases of work."""
    setting = footprint.setting
    held = {
        phase.name: (
            phase.done.node_h * setting.fact(f"server.{setting.sku(phase.done.sku).server}.accelerators")
        ).named("accelerator_time_h", "Accelerator-hours of node-hours")
        for phase in footprint.phases
        if phase.done is not None
    }
    return _sum("phases_h", held) if held else None


def _work(setting: Setting) -> tuple[dict[str, Done], Answered | None]:
    """Phases on nodes, as they are stated."""
    job = setting.job
    found: dict[str, Done] = {}
    for name in ("data", "training", "fine_tuning"):
        if (table := getattr(job, name)) is not None:
            found[name] = done_work(setting, name, table)
    if (tried := job.experimentation) is not None:
        hours = tried.accelerator_hours
        found["experimentation"] = (
            _repeated(setting, found["training"])
            if hours is None
            else hours_done(setting, "experimentation", hours, tried.power_kw, None)
        )
    given = None if job.inference is None else answered(setting, job.inference)
    if given is not None:
        found["inference"] = given.done
    changed = {name: with_techniques(setting, name, done) for name, done in found.items()}
    return {name: with_stalls(setting, name, done) for name, done in changed.items()}, given


def _repeated(setting: Setting, training: Done) -> Done:
    """Experiments as a multiple of the training run."""
    assert setting.job.experimentation is not None, "checked by the caller"
    ratio = setting.stated(
        "experimentation.of_training",
        setting.job.experimentation.of_training_ratio,
        "1",
        "job.experimentation_ratio",
    )
    return Done(
        training.sku,
        (training.node_h * ratio).named(
            "repeated_h",
            "Node-hours of work that is stated as a multiple of training. Morrison et al., arXiv 2503.05804",
        ),
        (training.it_kwh * ratio).named(
            "repeated_kwh", "IT energy of work that is stated as a multiple of training"
        ),
        said=f"{ratio.value:g} times the training run",
    )


def _on_nodes(setting: Setting, name: str, done: Done) -> Phase:
    made = setting.node_share_kgco2e(setting.server_kgco2e(setting.sku(done.sku)), done.node_h)
    powered = _powered(setting, name, done.it_kwh, setting.grid(done.start, done.duration_h))
    return replace(powered, embodied=made, done=done, said=done.said)


def _powered(setting: Setting, name: str, it_kwh: Traced, grid: Traced) -> Phase:
    """What IT energy draws at the meter and emits."""
    facility = derive(facility_energy_kwh, it_energy_kwh=it_kwh, pue=setting.pue)
    running = derive(operational_kgco2e, facility_energy_kwh=facility, grid_kgco2e_per_kwh=grid)
    return Phase(name, it_kwh, facility, grid, running)


def _federated(setting: Setting, stated: Federated) -> Phase:
    """Devices, network and servers; the making of devices is not in it."""
    work = federated_work(setting, stated)
    return Phase(
        "federated",
        work.server_it_kwh,
        work.facility_kwh,
        setting.grid(),
        work.carbon,
        federated=work,
        said=work.said,
    )


def _storage(setting: Setting) -> Phase:
    """Drives that hold the data, for as long as they do."""
    stated = setting.job.storage
    assert stated is not None, "checked by the caller"
    stored, described = stored_data(setting)
    kept = setting.yours("storage.duration", stated.duration_h or 0.0, "h")
    copies: Traced = setting.stated("storage.copies", stated.copies, "1", "job.storage_copies")
    fast, hits = fast_tier(setting, stored, kept)
    if stated.reads_ratio is not None:
        reads = setting.yours("storage.reads_ratio", stated.reads_ratio, "1")
        copies = derive(held_copies, copies=copies, reads_ratio=reads, hit_fraction=hits)
    medium = f"storage.{stated.medium}"
    it = derive(
        stored_kwh,
        stored_gb=stored,
        copies=copies,
        duration_h=kept,
        power_kw_per_gb=setting.fact(f"{medium}.power"),
    )
    drives = derive(
        capacity_kgco2e,
        capacity_gb=(stored * copies).named("copied_gb", "Capacity that copies of data take"),
        capacity_kgco2e_per_gb=setting.fact(f"{medium}.embodied"),
    )
    made = setting.node_share_kgco2e(drives, kept)
    said = ""
    if fast is not None:
        it = (it + fast.it_kwh).named(
            "with_tier_kwh", "Energy of drives and of the fast tier in front of them"
        )
        made = total(
            "with_tier_kgco2e",
            {"drives_kgco2e": made, "tier_kgco2e": fast.made},
            "Making of drives and of the fast tier in front of them",
            gives="embodied=storage",
        )
        said = f" and {number_text(fast.size_gb.value / 1000, 3)} TB of ssd in front"
    return replace(
        _powered(setting, "storage", it, setting.grid(None, kept)),
        embodied=made,
        boundary="storage",
        said=f"{number_text(stored.value / 1000)} TB on {stated.medium}, {copies.value:g} times{said}, "
        f"{number_text(kept.value / 730.5, 3)} months{described}",
    )


def _around(setting: Setting, phases: list[Phase]) -> list[Phase]:
    """Network, building and end of life of the nodes that worked."""
    job, found = setting.job, []
    worked = [phase for phase in phases if phase.done is not None]
    if job.network is not None:
        found.append(_network(setting, worked))
    if job.building is not None:
        found.append(_building(setting, worked))
    if job.end_of_life is not None:
        found.append(_end_of_life(setting, worked))
    return found


def _network(setting: Setting, worked: list[Phase]) -> Phase:
    stated = setting.job.network
    assert stated is not None, "checked by the caller"
    nodes_kwh = _sum("phases_kwh", {phase.name: phase.it_kwh for phase in worked})
    made = _sum("phases_kgco2e", {phase.name: phase.embodied for phase in worked})
    power = setting.stated("network.power_share", stated.power_fraction, "1", "network.fabric.power")
    share = setting.stated("network.embodied_share", stated.embodied_fraction, "1", "network.fabric.embodied")
    it = derive(fabric_kwh, it_kwh=nodes_kwh, power_fraction=power)
    running = _sum("phases_kgco2e", {phase.name: phase.operational for phase in worked})
    return Phase(
        "network",
        it,
        derive(facility_energy_kwh, it_energy_kwh=it, pue=setting.pue),
        operational=derive(fabric_kgco2e, operational_kgco2e=running, power_fraction=power),
        embodied=derive(network_kgco2e, "embodied=network", server_kgco2e=made, network_fraction=share),
        boundary="network",
        said=f"{percent_text(power.value)} of the nodes' power, {percent_text(share.value)} of their making",
    )


def _building(setting: Setting, worked: list[Phase]) -> Phase:
    stated = setting.job.building
    assert stated is not None, "checked by the caller"
    carbon = setting.stated("building.carbon", stated.kgco2e_per_kw, "kgCO2e/kW", "embodied.building")
    years = setting.stated("building.lifetime", stated.lifetime_y, "y", "embodied.building_life")
    shares = {
        phase.name: derive(
            building_share_kgco2e,
            provisioned_kw=setting.fact(f"server.{setting.sku(done.sku).server}.max_power"),
            building_kgco2e_per_kw=carbon,
            used_h=done.node_h,
            building_lifetime_h=setting.years_h(years),
        )
        for phase in worked
        if (done := phase.done) is not None
    }
    return Phase(
        "building",
        embodied=_sum("phases_kgco2e", shares),
        boundary="building",
        said=f"{count_text(carbon.value)} kg a kW over {years.value:g} years",
    )


def _end_of_life(setting: Setting, worked: list[Phase]) -> Phase:
    shares: dict[str, Traced | None] = {}
    for phase in worked:
        assert phase.done is not None, "worked on nodes"
        sku = setting.sku(phase.done.sku)
        weighed = f"server.{sku.server}.mass"
        treated = derive(
            end_of_life_kgco2e,
            "embodied=end-of-life",
            mass_kg=setting.fact(weighed if setting.catalogue.has(weighed) else "job.node_mass"),
            end_of_life_kgco2e_per_kg=setting.fact("end_of_life.intensity"),
        )
        shares[phase.name] = setting.node_share_kgco2e(treated, phase.done.node_h)
    return Phase(
        "end_of_life",
        embodied=_sum("phases_kgco2e", shares),
        boundary="end of life",
        said="taking the nodes apart, without credits",
    )


def _sum(name: str, parts: Mapping[str, Traced | None], gives: str = "") -> Traced:
    """Sum over the phases that have a part, each under its own name."""
    unit = name.partition("_")[2]
    held = {f"{phase}_{unit}": part for phase, part in parts.items() if part is not None}
    return total(name, held, "Of all phases that the job states", gives=gives)
