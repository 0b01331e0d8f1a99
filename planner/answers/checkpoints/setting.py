"""One job of one size: how often it fails, how long it writes, what a node costs an hour in each state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from planner.answers.checkpoints.equations import (
    written_kw,
)
from planner.answers.checkpoints.question import RESTART_PARTS, Terms, restart_part
from planner.performance.power import stalled_power_kw
from planner.physics.checkpoints import checkpoint_gb
from planner.physics.equations.ownership import down_variance_to_mean_ratio, node_failure_rate_per_node_h
from planner.physics.equations.training import background_stall_h
from planner.physics.hours import fed, had_usd, made_kgco2e, one_hour
from planner.physics.nodes import host_facts, working_node_kw
from planner.physics.requests import given
from planner.physics.run_stops import RunStops, run_stops
from planner.trace.quantities import Traced, chosen, convert, derive, derive_parts, total
from reliability.checkpoint import checkpoint_write_h
from reliability.fleet import job_mttf_h
from reliability.restart import restart_h
from reliability.spares import mean_nodes_down, spares_for_confidence
from reliability.writing import asynchronous_write, write_bandwidth_gb_per_s

HELD = "Spare nodes held for each node of the job"

HOST = "host-memory"
FROZEN = "bf16-weights"  # of what adapters stand next to: no checkpoint holds it, and each restart reads it


@dataclass(frozen=True)
class Rates:
    """Money and carbon of one node for one hour, in one state."""

    usd: Traced
    kgco2e: Traced


@dataclass(frozen=True)
class Setting:
    """A job of one size on one SKU, as traced quantities."""

    terms: Terms
    nodes: Traced
    accelerators: Traced
    size_gb: Traced
    mttf_h: Traced
    storage_write_h: Traced
    load_h: Traced  # of a restart: the state, and weights that are frozen next to it
    host_write_h: Traced
    background_stall_h: Traced
    persist_h: Traced
    restart_h: Traced
    queue_h: Traced
    stops: RunStops
    failures_mttf_h: Traced
    spares: Traced
    kept_gb: Traced
    costs: _Costs
    waiting: Traced | None = None  # how much longer steps are, as nodes wait for slow ones; None: not stated

    def written(self, storage: str, write_h: Traced) -> Rates:
        """A node's hour while a checkpoint to that storage stops the job."""
        energy = self.terms.fact(f"checkpoint_storage.{storage}.write_energy")
        adds = derive(
            written_kw, size_gb=self.size_gb, storage_kwh_per_gb=energy, write_h=write_h, nodes=self.nodes
        )
        return self.costs.hour("performance.power.checkpoint_stall", adds)

    def working(self) -> Rates:
        """A node's hour of training."""
        busy = self.costs.hour("performance.power.training", None)
        if self.waiting is None:
            return busy
        waits = self.costs.hour("performance.power.exchange", None)
        return Rates(
            (waits.usd + (busy.usd - waits.usd) / self.waiting).named("usd"),
            (waits.kgco2e + (busy.kgco2e - waits.kgco2e) / self.waiting).named("kgco2e"),
        )

    def recovering(self, restart: Traced, spares: Traced) -> Setting:
        """The same job where it comes back in another time, and holds other spares."""
        ratio = (spares / self.nodes).named("spares_ratio", HELD)
        return replace(self, restart_h=restart, spares=spares, costs=replace(self.costs, spares_ratio=ratio))

    def restarting(self) -> Rates:
        """A node's hour between a failure and running again."""
        return self.costs.hour("performance.power.idle", None)


def setting_of(terms: Terms, sku: str, nodes: int) -> Setting:
    """The job of `terms` on some nodes of a SKU."""
    fact, one = terms.fact, terms.catalogue.skus[sku]
    size, count = given("nodes", float(nodes), "1"), fact(f"server.{one.server}.accelerators")
    rate = derive(
        node_failure_rate_per_node_h,
        reference_rate_per_node_h=terms.failure_rate,
        accelerators=count,
        reference_accelerators=terms.reference_accelerators,
        ageing_fraction_per_y=fact("reliability.ageing"),
        age_y=terms.age_y,
    )
    state_gb = checkpoint_gb(fact, terms.catalogue, terms.model, terms.question.state, terms.adapters)
    storage = f"checkpoint_storage.{terms.storage}"
    bandwidth = derive(
        write_bandwidth_gb_per_s,
        nodes=size,
        node_gb_per_s=fact(f"{storage}.bandwidth_per_node"),
        shared_gb_per_s=fact(f"{storage}.bandwidth"),
        others_fraction=given("storage_others", terms.question.storage_others_fraction, "1"),
    )
    behind = derive_parts(
        asynchronous_write,
        size_gb=state_gb,
        nodes=size,
        bandwidth_gb_per_s=bandwidth,
        host_gb_per_s=fact(f"checkpoint_storage.{HOST}.bandwidth_per_node"),
    )
    write = derive(checkpoint_write_h, size_gb=state_gb, bandwidth_gb_per_s=bandwidth)
    load = write
    if terms.adapters is not None:
        frozen = checkpoint_gb(fact, terms.catalogue, terms.model, FROZEN)
        loaded = (state_gb + frozen).named("size_gb", "Adapters with their optimizer, and frozen weights")
        load = derive(checkpoint_write_h, size_gb=loaded, bandwidth_gb_per_s=bandwidth)
    stall = derive(
        background_stall_h,
        storage_write_h=write,
        host_write_h=behind.blocking_h,
        blocking_fraction=fact(f"{storage}.blocking_fraction"),
    )
    spares = _spares(terms, size, rate)
    kept = (fact("checkpoint.kept") * state_gb).named("kept_gb", "Storage that a job's checkpoints fill")
    failing = derive(job_mttf_h, nodes=size, failure_rate_per_node_h=rate)
    stops = run_stops(
        fact,
        failing,
        (size * count).named("accelerators_in_use"),
        spikes_per_h=terms.spikes_per_h,
        spike_back_h=terms.spike_back_h,
        detected=terms.question.detect_corruption,
    )
    return Setting(
        terms=terms,
        nodes=size,
        accelerators=count,
        size_gb=state_gb,
        mttf_h=stops.mttf_h,
        storage_write_h=write,
        load_h=load,
        host_write_h=behind.blocking_h,
        background_stall_h=stall,
        persist_h=behind.persist_h,
        restart_h=_restart(terms, load),
        queue_h=given("queue", terms.question.queue_min / 60.0, "h"),
        stops=stops,
        failures_mttf_h=failing,
        spares=spares,
        kept_gb=kept,
        costs=_costs(terms, sku, size, count, spares, kept),
        waiting=None if terms.slow is None else terms.slow.factor(size),
    )


def _restart(terms: Terms, load_h: Traced) -> Traced:
    """Restart as stated, or the sum of its parts where asked for; loading is as fast as writing."""
    if terms.question.restart_parts is None:
        return terms.restart
    parts = {f"{name}_h": convert(restart_part(terms, name), "h") for name in RESTART_PARTS}
    return derive(restart_h, load_h=load_h, **parts)


def _spares(terms: Terms, nodes: Traced, rate: Traced) -> Traced:
    down = derive(mean_nodes_down, nodes=nodes, failure_rate_per_node_h=rate, repair_h=terms.repair)
    bursts = derive(
        down_variance_to_mean_ratio,
        nodes=nodes,
        fleet_variance_to_mean_ratio=terms.variance_to_mean,
        fleet_nodes=terms.fleet_nodes,
    )
    return derive(
        spares_for_confidence,
        mean_down=down,
        confidence_fraction=terms.spare_confidence,
        variance_to_mean_ratio=bursts,
    )


@dataclass(frozen=True)
class _Costs:
    """What a node costs an hour whatever it does, and how to price what it draws."""

    terms: Terms
    host: Mapping[str, Traced]
    accelerators: Traced
    kept_kw: Traced
    owned_usd: Traced
    storage_usd: Traced
    embodied_kgco2e: Traced
    storage_kgco2e: Traced
    spares_ratio: Traced

    def hour(self, power: str, written: Traced | None) -> Rates:
        """Money and carbon of a node's hour at a share of its accelerators' TDP."""
        none = chosen("written_kw", 0.0, "nothing is written in this state")
        bill, burnt = self._energy(
            (self._node_kw(power) + self.kept_kw + (written or none)).named(
                "state_kw", "Power of a node in a state, its share of the storage in"
            )
        )
        spare_bill, spare_burnt = self._energy(self._node_kw("performance.power.idle"))
        spare_usd = (self.spares_ratio * (self.owned_usd + spare_bill)).named(
            "spares_usd", "Money of the spares on standby for one node, for as long as it runs"
        )
        spare_kgco2e = (self.spares_ratio * (self.embodied_kgco2e + spare_burnt)).named(
            "spares_kgco2e", "Carbon of the spares on standby for one node, for as long as it runs"
        )
        return Rates(
            (self.owned_usd + spare_usd + self.storage_usd + bill).named(
                "node_hour_usd",
                "Money of one node for one hour in a state, with its share of spares and storage",
            ),
            total(
                "node_hour_kgco2e",
                {
                    "embodied_kgco2e": self.embodied_kgco2e,
                    "spares_kgco2e": spare_kgco2e,
                    "storage_kgco2e": self.storage_kgco2e,
                    "operational_kgco2e": burnt,
                },
                "Carbon of one node for one hour in a state, with its share of spares and storage",
                gives="embodied=server and storage",
            ),
        )

    def _node_kw(self, power: str) -> Traced:
        tdp = self.host["tdp_kw"]
        stalled = derive(stalled_power_kw, tdp_kw=tdp, stall_fraction=self.terms.fact(power))
        return working_node_kw(self.host, self.accelerators, stalled)

    def _energy(self, power_kw: Traced) -> tuple[Traced, Traced]:
        """Money and carbon of an hour's draw."""
        terms = self.terms
        return fed(power_kw, terms.pue, terms.electricity, terms.grid)


def _costs(terms: Terms, sku: str, nodes: Traced, count: Traced, spares: Traced, kept: Traced) -> _Costs:
    fact, one = terms.fact, terms.catalogue.skus[sku]
    storage, hour = f"checkpoint_storage.{terms.storage}", one_hour()
    stored = (kept * fact(f"{storage}.embodied_per_tb") / nodes).named(
        "kept_kgco2e", "Embodied carbon of the storage that holds a job's checkpoints, one node's share"
    )
    life = derive(lifetime_h, lifetime_y=terms.embodied_life)
    return _Costs(
        terms=terms,
        host=host_facts(fact, one),
        accelerators=count,
        kept_kw=(kept * fact(f"{storage}.power") / nodes).named(
            "kept_kw", "Power of the storage that holds a job's checkpoints, one node's share"
        ),
        owned_usd=had_usd(
            fact, f"server.{one.server}", terms.price(one.server), terms.discount, terms.capital_life
        ),
        storage_usd=(kept * fact(f"{storage}.price_per_tb_month") * hour / nodes).named(
            "kept_usd", "Money for the storage that holds a job's checkpoints, one node's share"
        ),
        embodied_kgco2e=made_kgco2e(fact, one, terms.embodied_life),
        storage_kgco2e=derive(calendar_share_kgco2e, embodied_kgco2e=stored, used_h=hour, lifetime_h=life),
        spares_ratio=(spares / nodes).named("spares_ratio", HELD),
    )
