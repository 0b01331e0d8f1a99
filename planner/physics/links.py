"""Links of accelerators: how many fast ones join; within and between the parts of a replica."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.inputs.resolved import Inputs
from planner.performance.engine import ReplicaLayout, group_size_value
from planner.trace.columns import Column, Indices
from planner.trace.quantities import Fact, Traced, chosen, derive

PCIE_GB_PER_S = 100.0  # links below it are PCIe: switched and direct ones start at 150


def link_domain(inputs: Inputs, sku: int) -> Traced:
    """Accelerators that fast links join: those of the chip's design, where so many are sold as one."""
    one = inputs.skus[sku]
    domain = inputs.fact(f"accelerator.{one.accelerator}.link_domain")
    together = one.buying_unit * inputs.server("accelerators")[sku].value
    if together >= domain.value:
        return domain
    return chosen("link_domain", together, f"{one.title}: links join what is sold as one")


def has_slow_links(inputs: Inputs, accelerator: str) -> bool:
    """Whether accelerators of a node are joined by PCI Express alone."""
    return float(inputs.fact(f"accelerator.{accelerator}.link_bandwidth").value) < PCIE_GB_PER_S


def replica_layout(
    inputs: Inputs, sku: Indices, tp: Traced, dp: Traced, pp: Traced | None = None
) -> ReplicaLayout:
    """Links of replicas of SKUs: of groups that share attention, of ranks that hold experts, of stages."""
    ranks = chosen("ranks", np.asarray(tp.value) * np.asarray(dp.value), "accelerators of a stage")

    def of_size(what: str, accelerators: Traced) -> Traced:
        sizes = {
            name: inputs.of_sku([_ring(inputs, one.accelerator, f"{what}@{n}") for one in inputs.skus], sku)
            for name, n in (("at_two", 2), ("at_four", 4), ("at_eight", 8))
        }
        if what == "ring_share":
            return derive(
                ring_fraction, accelerators=accelerators, **{f"{n}_fraction": v for n, v in sizes.items()}
            )
        return derive(ring_latency_s, accelerators=accelerators, **{f"{n}_s": v for n, v in sizes.items()})

    link = inputs.of_sku(inputs.accelerator("link_bandwidth"), sku)
    return ReplicaLayout(
        tp=tp,
        dp=dp,
        ring_latency_s=of_size("ring_latency", tp),
        ring_gb_per_s=(link * of_size("ring_share", tp)).named(
            "ring_gb_per_s", "Bus bandwidth of an exchange"
        ),
        expert_latency_s=of_size("ring_latency", ranks),
        expert_gb_per_s=(link * of_size("ring_share", ranks)).named(
            "ring_gb_per_s", "Bus bandwidth of an exchange"
        ),
        **(
            {}
            if pp is None or np.all(np.asarray(pp.value) == 1.0)
            else _stage_links(inputs, sku, pp, link, of_size, ranks)
        ),
    )


def _stage_links(
    inputs: Inputs,
    sku: Indices,
    pp: Traced,
    link_gb_per_s: Traced,
    of_size: Callable[[str, Traced], Traced],
    ranks: Traced,
) -> dict[str, Traced]:
    """What passes a batch on: the link inside a domain of links, else the network between nodes."""
    pair = chosen("accelerators", 2.0, "one passes on to the next")
    domain = inputs.of_sku(inputs.accelerator("link_domain"), sku)
    apart = chosen(
        "apart",
        (np.asarray(ranks.value) * np.asarray(pp.value) > np.asarray(domain.value)).astype(float),
        "1 where the stages of a replica are more than fast links join",
    )
    return {
        "pp": pp,
        "stage_latency_s": derive(
            stage_latency_s,
            apart=apart,
            near_s=of_size("ring_latency", pair),
            far_s=inputs.fact("performance.training.ring_hop_far"),
        ),
        "stage_gb_per_s": derive(
            stage_gb_per_s,
            apart=apart,
            link_gb_per_s=link_gb_per_s,
            link_fraction=of_size("ring_share", pair),
            network_gb_per_s=inputs.of_sku(inputs.accelerator("network_bandwidth"), sku),
            network_fraction=inputs.fact("performance.training.network_efficiency"),
        ),
    }


def stage_latency_s(*, apart: Column, near_s: Column, far_s: Column) -> Column:
    """Time to pass a small batch on to the next stage.

    lat_p = lat(2) where fast links join the stages, a hop between nodes where they do not

    Source: an exchange of two is as long as a message and its answer; hops as of training.
    """
    result: Column = np.where(np.asarray(apart) > 0, far_s, near_s)
    return result


def stage_gb_per_s(
    *,
    apart: Column,
    link_gb_per_s: Column,
    link_fraction: Column,
    network_gb_per_s: Column,
    network_fraction: Column,
) -> Column:
    """Rate at which a batch is passed on to the next stage.

    N_p = e_2 N_l where fast links join the stages, e_i N between nodes

    Source: bus bandwidth of an exchange of two; share of the network as of training.
    """
    near, far = np.multiply(link_gb_per_s, link_fraction), np.multiply(network_gb_per_s, network_fraction)
    result: Column = np.where(np.asarray(apart) > 0, far, near)
    return result


def ring_fraction(
    *, at_two_fraction: Column, at_four_fraction: Column, at_eight_fraction: Column, accelerators: Column
) -> Column:
    """Bus bandwidth of an exchange over one way of the link, by the size of the group.

    As `group_size_value`.

    Source: interpolation between measured sizes.
    """
    return group_size_value(
        at_two=at_two_fraction,
        at_four=at_four_fraction,
        at_eight=at_eight_fraction,
        accelerators=accelerators,
    )


def ring_latency_s(
    *, at_two_s: Column, at_four_s: Column, at_eight_s: Column, accelerators: Column
) -> Column:
    """Time of a small exchange, by the size of the group.

    As `group_size_value`.

    Source: interpolation between measured sizes.
    """
    return group_size_value(
        at_two=at_two_s, at_four=at_four_s, at_eight=at_eight_s, accelerators=accelerators
    )


def _ring(inputs: Inputs, accelerator: str, name: str) -> Fact:
    own = f"kernel.{accelerator}.{name}"
    if inputs.catalogue.has(own):
        return inputs.fact(own)
    return inputs.fact(f"kernel.prior.{name}{'-pcie' if has_slow_links(inputs, accelerator) else ''}")
