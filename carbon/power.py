"""Power of a machine: by utilisation, of the parts of a host, and under a cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


def power_kw(*, idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> Column:
    """Power of a machine, linear in its utilisation.

    P = P_idle + u * (P_max - P_idle)

    Source: Cloud Carbon Footprint methodology, after Etsy, "Cloud Jewels", 2020.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    return idle_kw + utilisation_fraction * (max_kw - idle_kw)


def curved_power_kw(
    *, idle_kw: Column, max_kw: Column, utilisation_fraction: Column, curve_exponent: Column
) -> Column:
    """Power of a machine whose first work costs more than its last.

    P = P_idle + (P_max - P_idle) * (2 * u - u^r)

    Fitted on whole CPU servers (r = 1.4); r = 1 is the straight line.

    Source: Fan, Weber and Barroso, "Power Provisioning for a Warehouse-sized Computer", ISCA 2007.
    """
    _check_power_range(idle_kw, max_kw, utilisation_fraction)
    _domain.at_least(1.0, curve_exponent=curve_exponent)
    curve = 2 * utilisation_fraction - np.power(utilisation_fraction, curve_exponent)
    return idle_kw + (max_kw - idle_kw) * curve


def fan_power_kw(*, max_kw: Column, speed_fraction: Column) -> Column:
    """Power of fans at a share of their full speed.

    P = P_max * s^3

    Flow is proportional to speed, so that half the air takes an eighth of the power.

    Source: affinity laws of fans.
    """
    _domain.nonnegative(max_kw=max_kw)
    _domain.share(speed_fraction=speed_fraction)
    return max_kw * speed_fraction**3


def host_power_kw(
    *,
    processors_kw: Column,
    memory_kw: Column,
    drives_kw: Column,
    network_cards: Column,
    network_card_kw: Column,
    fans_kw: Column,
    accelerators_kw: Column,
    supply_efficiency_fraction: Column,
) -> Column:
    """What the plug of a node gives beyond its accelerators, in one state.

    P_host = (P_cpu + P_mem + P_drives + m * P_nic + P_fans + P_acc) / eta - P_acc

    The supplies' losses on the power of the accelerators are the host's: an accelerator counter does not see
    them. Uninterruptible supplies and cooling of the room are not in it: they are in the PUE.

    Source: sum of parts at the plug, behind power supplies of efficiency eta.
    """
    _domain.nonnegative(
        processors_kw=processors_kw,
        memory_kw=memory_kw,
        drives_kw=drives_kw,
        network_cards=network_cards,
        network_card_kw=network_card_kw,
        fans_kw=fans_kw,
        accelerators_kw=accelerators_kw,
    )
    _domain.share_above_zero(supply_efficiency_fraction=supply_efficiency_fraction)
    parts_kw = processors_kw + memory_kw + drives_kw + network_cards * network_card_kw + fans_kw
    return (parts_kw + accelerators_kw) / supply_efficiency_fraction - accelerators_kw


@dataclass(frozen=True, slots=True)
class NodePower:
    """Power of one node at its plug, by what it does."""

    off_kw: Column
    idle_kw: Column
    training_kw: Column
    prefill_kw: Column
    decode_kw: Column
    checkpoint_kw: Column


def node_power_by_state(
    *,
    accelerators: Column,
    rated_kw: Column,
    host_kw: Column,
    idle_host_kw: Column,
    idle_accelerator_kw: Column,
    off_kw: Column,
    training_fraction: Column,
    prefill_fraction: Column,
    decode_fraction: Column,
    checkpoint_fraction: Column,
) -> NodePower:
    """Power of one node in each state, from shares of the accelerators' rated power.

    P_s = P_host + n * phi_s * P_rated,  P_idle = P_host,idle + n * P_acc,idle

    The host is at its working power in every state but idle and off; a checkpoint keeps it busy while the
    accelerators wait. PUE is not in it.

    Source: energy by state; shares as cited with the facts `performance.power.*`.
    """
    _domain.nonnegative(
        accelerators=accelerators,
        rated_kw=rated_kw,
        host_kw=host_kw,
        idle_host_kw=idle_host_kw,
        idle_accelerator_kw=idle_accelerator_kw,
        off_kw=off_kw,
    )
    _domain.share(
        training_fraction=training_fraction,
        prefill_fraction=prefill_fraction,
        decode_fraction=decode_fraction,
        checkpoint_fraction=checkpoint_fraction,
    )
    all_rated_kw = accelerators * rated_kw
    return NodePower(
        off_kw=off_kw,
        idle_kw=idle_host_kw + accelerators * idle_accelerator_kw,
        training_kw=host_kw + training_fraction * all_rated_kw,
        prefill_kw=host_kw + prefill_fraction * all_rated_kw,
        decode_kw=host_kw + decode_fraction * all_rated_kw,
        checkpoint_kw=host_kw + checkpoint_fraction * all_rated_kw,
    )


def capped_clock_fraction(
    *, cap_kw: Column, uncapped_kw: Column, static_kw: Column, clock_exponent: Column
) -> Column:
    """Clock under a power cap, as a share of the clock without one.

    f = min(1, ((P_cap - P_s) / (P_0 - P_s))^(1 / a))

    P_0 is what the work draws without a cap, P_s what does not fall with the clock; a is 3 where voltage
    follows the clock and falls to 1 at the lowest voltage. A cap above P_0 does nothing; one at or below
    P_s stops the device and is refused.

    Source: dynamic power C V^2 f; Mudge, "Power: A First-Class Architectural Design Constraint", 2001.
    """
    _domain.nonnegative(static_kw=static_kw)
    _domain.at_least(1.0, clock_exponent=clock_exponent)
    _check_above("cap_kw", cap_kw, static_kw)
    _check_above("uncapped_kw", uncapped_kw, static_kw)
    dynamic_fraction = np.minimum(1.0, (cap_kw - static_kw) / (uncapped_kw - static_kw))
    clock: Column = np.power(dynamic_fraction, 1 / clock_exponent)
    return clock


def capped_throughput_fraction(*, clock_fraction: Column, clock_bound_fraction: Column) -> Column:
    """Throughput at a lower clock, as a share of the throughput at the full one.

    x = 1 / (1 - b + b / f)

    b is the share of the time that waits for the clock, at the full clock: near 1 in prefill, near 0 in
    decode, which waits for memory. With `capped_clock_fraction` it rises and is concave in the cap.

    Source: Hsu and Kremer, "The Design, Implementation, and Evaluation of a Compiler Algorithm for CPU
    Energy Reduction", PLDI 2003.
    """
    _domain.share_above_zero(clock_fraction=clock_fraction)
    _domain.share(clock_bound_fraction=clock_bound_fraction)
    return 1 / (1 - clock_bound_fraction + clock_bound_fraction / clock_fraction)


def capped_energy_ratio(*, cap_kw: Column, uncapped_kw: Column, throughput_fraction: Column) -> Column:
    """Energy of a piece of work under a cap, relative to the same work without one.

    e = min(P_cap, P_0) / P_0 / x

    Of the device alone. The host runs longer at its own power, so that the best cap of a node is higher
    than that of its accelerators.

    Source: definition.
    """
    _domain.positive(cap_kw=cap_kw, uncapped_kw=uncapped_kw)
    _domain.share_above_zero(throughput_fraction=throughput_fraction)
    ratio: Column = np.minimum(cap_kw, uncapped_kw) / uncapped_kw / throughput_fraction
    return ratio


def _check_power_range(idle_kw: Column, max_kw: Column, utilisation_fraction: Column) -> None:
    _domain.nonnegative(idle_kw=idle_kw, max_kw=max_kw)
    _domain.share(utilisation_fraction=utilisation_fraction)
    if np.any(np.less(max_kw, idle_kw)):
        raise ValueError(f"max_kw is at least idle_kw, got max {max_kw} and idle {idle_kw}")


def _check_above(name: str, value_kw: Column, static_kw: Column) -> None:
    _domain.positive(**{name: value_kw})
    if np.any(np.less_equal(value_kw, static_kw)):
        raise ValueError(f"{name} is above static_kw, got {value_kw} and static {static_kw}")
