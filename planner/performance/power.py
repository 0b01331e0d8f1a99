"""Electrical power from utilisation, in place of rated power times hours."""

import numpy as np

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.adapters import training_flops_ratio
from planner.performance.columns import Column
from planner.performance.memory import redone_fraction


def accelerator_power_kw(
    *,
    tdp_kw: Column,
    memory_use_fraction: Column,
    compute_use_fraction: Column,
    idle_share_factor: Column,
    memory_factor: Column,
    compute_factor: Column,
    compute_root_factor: Column,
    exchange_fraction: Column = 0.0,
    exchange_factor: Column = 0.0,
) -> Column:
    """Power that one accelerator draws while it works.

    P = TDP min(1, c0 + c1 u_mem + c2 u_comp + c3 sqrt(u_comp) - c4 x)

    Arguments c0 to c4 in this order, x the share of time in exchanges, in which it waits; fitted per chip
    generation on GPU power counters, so supply losses and the host are not in it. c0 is the share of a device
    that is active at no load, above idle.

    Source: fit on ML.ENERGY v3, see README.md and benchmarks/studies/fit_serving.py.
    """
    require_positive(tdp_kw=tdp_kw)
    require_share(memory_use_fraction=memory_use_fraction, compute_use_fraction=compute_use_fraction)
    require_not_negative(
        idle_share_factor=idle_share_factor,
        memory_factor=memory_factor,
        compute_factor=compute_factor,
        compute_root_factor=compute_root_factor,
        exchange_factor=exchange_factor,
    )
    require_share(exchange_fraction=exchange_fraction)
    load = (
        idle_share_factor
        + memory_factor * memory_use_fraction
        + compute_factor * compute_use_fraction
        + compute_root_factor * np.sqrt(compute_use_fraction)
        - exchange_factor * exchange_fraction
    )
    result: Column = tdp_kw * np.clip(load, 0.0, 1.0)
    return result


def generation_power_kw(
    *,
    tdp_kw: Column,
    memory_use_fraction: Column,
    compute_use_fraction: Column,
    idle_share_factor: Column,
    memory_factor: Column,
    compute_factor: Column,
    sustained_fraction: Column,
    turn_exponent: Column,
) -> Column:
    """Power that one accelerator draws while it makes images or films.

    P = TDP (l^-k + s^-k)^(-1/k),  l = c0 + c1 u_mem + c2 u_comp

    Energy follows bytes and operations straight; clocks fall before the share s of the rating that was never
    passed is met, so that the turn is round: the sharper, the larger k. c0 is drawn by one that waits for its
    host or for others too.

    Source: fit on ML.ENERGY v3, see README.md and benchmarks/studies/fit_power.py.
    """
    require_positive(tdp_kw=tdp_kw, idle_share_factor=idle_share_factor, turn_exponent=turn_exponent)
    require_share(memory_use_fraction=memory_use_fraction, compute_use_fraction=compute_use_fraction)
    require_not_negative(memory_factor=memory_factor, compute_factor=compute_factor)
    require_open_share(sustained_fraction=sustained_fraction)
    load: Column = (
        idle_share_factor + memory_factor * memory_use_fraction + compute_factor * compute_use_fraction
    )
    turn = np.asarray(turn_exponent)
    result: Column = tdp_kw * (load**-turn + np.asarray(sustained_fraction) ** -turn) ** (-1.0 / turn)
    return result


def served_generation_power_kw(
    *,
    tdp_kw: Column,
    loaded_idle_kw: Column,
    busy_fraction: Column,
    memory_use_fraction: Column,
    compute_use_fraction: Column,
    idle_share_factor: Column,
    memory_factor: Column,
    compute_factor: Column,
    sustained_fraction: Column,
    turn_exponent: Column,
) -> Column:
    """Power of one accelerator that makes images or films at a load.

    P = y max(P_making, P_loaded) + (1 - y) P_loaded

    y is the share of time in which it makes any.

    Source: `generation_power_kw` over the states of a queue.
    """
    require_not_negative(loaded_idle_kw=loaded_idle_kw)
    require_share(busy_fraction=busy_fraction)
    making_kw = generation_power_kw(
        tdp_kw=tdp_kw,
        memory_use_fraction=memory_use_fraction,
        compute_use_fraction=compute_use_fraction,
        idle_share_factor=idle_share_factor,
        memory_factor=memory_factor,
        compute_factor=compute_factor,
        sustained_fraction=sustained_fraction,
        turn_exponent=turn_exponent,
    )
    return busy_fraction * np.maximum(making_kw, loaded_idle_kw) + (1.0 - busy_fraction) * loaded_idle_kw


def served_power_kw(
    *,
    tdp_kw: Column,
    loaded_idle_kw: Column,
    busy_fraction: Column,
    memory_use_fraction: Column,
    compute_use_fraction: Column,
    compute_root_fraction: Column,
    exchange_fraction: Column,
    idle_share_factor: Column,
    memory_factor: Column,
    compute_factor: Column,
    compute_root_factor: Column,
    exchange_factor: Column,
) -> Column:
    """Power of one accelerator that serves at a load.

    P = y TDP min(1, c0 + c1 u_mem + c2 u_comp + c3 E[sqrt(u_comp)] - c4 x) + (1 - y) P_loaded

    y is the share of time in which the replica steps at all: with one request it draws far more than idle.
    While nothing runs the weights stay in memory and the clocks up.

    Source: `accelerator_power_kw` over the states of a queue (`replica_use`).
    """
    require_positive(tdp_kw=tdp_kw)
    require_not_negative(loaded_idle_kw=loaded_idle_kw)
    require_share(
        busy_fraction=busy_fraction,
        memory_use_fraction=memory_use_fraction,
        compute_use_fraction=compute_use_fraction,
        compute_root_fraction=compute_root_fraction,
        exchange_fraction=exchange_fraction,
    )
    load = (
        idle_share_factor
        + memory_factor * memory_use_fraction
        + compute_factor * compute_use_fraction
        + compute_root_factor * compute_root_fraction
        - exchange_factor * exchange_fraction
    )
    stepping_kw = np.maximum(tdp_kw * np.clip(load, 0.0, 1.0), loaded_idle_kw)
    return busy_fraction * stepping_kw + (1.0 - busy_fraction) * loaded_idle_kw


def clocked_idle_share_factor(
    *, idle_share_factor: Column, static_kw: Column, tdp_kw: Column, dynamic_fraction: Column
) -> Column:
    """Share of a device that is active at no load, at a lower clock.

    c0' = s + (c0 - s) d(f),  s = min(P_s / TDP, c0)

    What is active without work falls with clock and voltage, but for what is static.

    Source: `clocked_dynamic_fraction`, which d(f) is.
    """
    lowest = np.minimum(np.divide(static_kw, tdp_kw), idle_share_factor)
    result: Column = lowest + (idle_share_factor - lowest) * dynamic_fraction
    return result


def clocked_memory_factor(
    *, memory_factor: Column, memory_core_fraction: Column, operation_energy_ratio: Column
) -> Column:
    """What crossing memory draws, at a lower clock of the core.

    c1' = c1 (1 - m (1 - e)),  e = d(f)/f

    The memory keeps its own clock; the share m of that energy is spent in caches and on the network of the
    chip, whose voltage falls as that of each operation does.

    Source: definition; m is a fact (`performance.power_cap.memory_core_share`).
    """
    require_share(memory_core_fraction=memory_core_fraction)
    result: Column = memory_factor * (1.0 - memory_core_fraction * (1.0 - operation_energy_ratio))
    return result


def capped_power_kw(*, power_kw: Column, cap_kw: Column) -> Column:
    """Power under a cap set on the device.

    P' = min(P, cap)

    What the cap costs in speed is left out: decode loses nothing at half the rated power, prefill and
    training do. The limit is that of the device, not of its host.

    Source: Patel et al., "Splitwise", ISCA 2024 (token phase at a 350 W cap without latency loss).
    """
    require_positive(power_kw=power_kw, cap_kw=cap_kw)
    result: Column = np.minimum(power_kw, cap_kw)
    return result


def computing_s(*, matrix_s: Column, attention_s: Column, head_s: Column) -> Column:
    """Time of a training step in which an accelerator multiplies.

    t_c = t_matrix + t_attention + t_head

    Source: the terms of `training_step_s`.
    """
    return matrix_s + attention_s + head_s


def moving_s(*, elementwise_s: Column, optimizer_s: Column) -> Column:
    """Time of a training step in which values cross the memory of an accelerator.

    t_m = t_elementwise + t_optimizer

    Source: the terms of `training_step_s`.
    """
    return elementwise_s + optimizer_s


def training_power_kw(
    *,
    tdp_kw: Column,
    computing_s: Column,
    moving_s: Column,
    total_s: Column,
    compute_use_fraction: Column,
    memory_efficiency_fraction: Column,
    exchange_power_fraction: Column,
    idle_share_factor: Column,
    memory_factor: Column,
    compute_factor: Column,
    compute_root_factor: Column,
    memory_use_fraction: Column = 0.0,
) -> Column:
    """Power of one accelerator, averaged over what a training step does one after the other.

    P = s_c P(u_mem, u_comp/s_c) + s_m P(e_m, 0) + (1 - s_c - s_m) phi_x TDP

    P(u_mem, u_comp) is `accelerator_power_kw`, s_c the share of the step in which matrices and attention
    compute, s_m the share in which values and the optimizer's state cross the memory at its reachable speed
    e_m. In what is left the accelerator exchanges or waits for others. u_comp counts operations of the whole
    step over the 16-bit peak, whatever their precision. An overlap costs no more than what it hides behind.
    u_mem is the share of the memory's bandwidth that is used while matrices compute: large ones use next to
    none, convolutions move their values as they multiply.

    Source: time average of the law; phi_x is what metered nodes leave (facts `performance.power.exchange`).
    """
    require_positive(tdp_kw=tdp_kw, computing_s=computing_s, total_s=total_s)
    require_not_negative(moving_s=moving_s, compute_use_fraction=compute_use_fraction)
    require_share(exchange_power_fraction=exchange_power_fraction)
    computing = computing_s / total_s
    # Where nothing is waited for, the parts make up the whole but for its last digits.
    whole = np.isclose(computing_s + moving_s, total_s, rtol=1e-9)
    moving: Column = np.where(whole, 1.0 - computing, moving_s / total_s)
    require_share(computing_and_moving_fraction=computing + moving)
    law = {
        "tdp_kw": tdp_kw,
        "idle_share_factor": idle_share_factor,
        "memory_factor": memory_factor,
        "compute_factor": compute_factor,
        "compute_root_factor": compute_root_factor,
    }
    busy_use: Column = np.minimum(1.0, compute_use_fraction / computing)
    at_matrices = accelerator_power_kw(
        memory_use_fraction=memory_use_fraction, compute_use_fraction=busy_use, **law
    )
    at_memory = accelerator_power_kw(
        memory_use_fraction=memory_efficiency_fraction, compute_use_fraction=0.0, **law
    )
    waiting = 1.0 - computing - moving
    return computing * at_matrices + moving * at_memory + waiting * exchange_power_fraction * tdp_kw


def host_at_load_kw(
    *, host_idle_kw: Column, host_kw: Column, accelerator_kw: Column, idle_kw: Column, tdp_kw: Column
) -> Column:
    """Power of a host whose accelerators draw so much each.

    P_host = P_idle + (P_busy - P_idle) min(1, max(0, (P - P_0)/(TDP - P_0)))

    P_0 is an idle accelerator. Fans and supply losses follow the heat of the node, processors and network
    cards its work, and both follow the accelerators.

    Source: straight line between two states that are metered: idle, and at full load.
    """
    require_not_negative(host_idle_kw=host_idle_kw, accelerator_kw=accelerator_kw, idle_kw=idle_kw)
    require_positive(host_kw=host_kw, tdp_over_idle_kw=tdp_kw - np.asarray(idle_kw))
    busy = np.clip((accelerator_kw - np.asarray(idle_kw)) / (tdp_kw - np.asarray(idle_kw)), 0.0, 1.0)
    result: Column = host_idle_kw + (host_kw - np.asarray(host_idle_kw)) * busy
    return result


def node_power_kw(*, host_kw: Column, accelerators: Column, accelerator_kw: Column) -> Column:
    """Power of one node at its plug: host and accelerators. Idle in, idle out.

    P_node = P_host + n P_gpu

    The host share (`host_at_load_kw`) holds fans, processors, network cards and supply losses: about 1.75 kW
    for eight H100 in immersion, half a kilowatt more in air. PUE comes after this.

    Source: public MLPerf power logs against GPU counters, see README.md of this folder.
    """
    require_not_negative(host_kw=host_kw, accelerators=accelerators, accelerator_kw=accelerator_kw)
    return host_kw + accelerators * accelerator_kw


def stalled_power_kw(*, tdp_kw: Column, stall_fraction: Column) -> Column:
    """Power of an accelerator that waits for a checkpoint to be written or for a restart.

    P_stall = phi TDP

    Source: Morrison et al., arXiv 2503.05804 (GPUs fall from above 600 W to about 100 W at checkpoints).
    """
    require_positive(tdp_kw=tdp_kw)
    require_share(stall_fraction=stall_fraction)
    return tdp_kw * stall_fraction


def serving_memory_use_fraction(
    *, touched_gb: Column, cache_read_gb: Column, step_s: Column, memory_gb_per_s: Column
) -> Column:
    """Share of the memory bandwidth that one serving step uses, per accelerator.

    u_mem = bytes / (M T)

    Source: definition in the fit of `accelerator_power_kw`.
    """
    require_not_negative(touched_gb=touched_gb, cache_read_gb=cache_read_gb)
    require_positive(step_s=step_s, memory_gb_per_s=memory_gb_per_s)
    result: Column = np.minimum(1.0, (touched_gb + cache_read_gb) / (memory_gb_per_s * step_s))
    return result


def serving_compute_use_fraction(
    *, active_parameters: Column, tp: Column, step_tokens: Column, step_s: Column, peak_tflop_per_s: Column
) -> Column:
    """Share of the dense peak that one serving step uses, per accelerator.

    u_comp = 2 N_act (b + q) / (t P T)

    `step_tokens` is b + q. For power P is the 16-bit peak whatever the weights take: an operation in 8 bits
    was seen to draw about as much as one in 16.

    Source: definition in the fit of `accelerator_power_kw`.
    """
    require_positive(
        active_parameters=active_parameters, tp=tp, step_s=step_s, peak_tflop_per_s=peak_tflop_per_s
    )
    require_not_negative(step_tokens=step_tokens)
    flops = 2.0 * active_parameters / tp * step_tokens
    result: Column = np.minimum(1.0, flops / (peak_tflop_per_s * 1e12 * step_s))
    return result


def training_compute_use_fraction(
    *,
    parameters: Column,
    recompute: Column,
    global_batch: Column,
    sequence_tokens: Column,
    accelerators: Column,
    step_s: Column,
    peak_tflop_per_s: Column,
    adapter_parameters: Column = 0.0,
) -> Column:
    """Share of the dense peak that a training step uses, with what is computed twice.

    u_comp = k N B s / (n P T),  k = 6, or 4 next to `adapter_parameters`; 2 x more to redo a share x

    Attention scores and the adapters themselves are left out (a few percent at usual lengths).

    Source: Narayanan et al., SC'21, arXiv 2104.04473, appendix (operation count).
    """
    require_positive(parameters=parameters, global_batch=global_batch, sequence_tokens=sequence_tokens)
    require_positive(accelerators=accelerators, step_s=step_s, peak_tflop_per_s=peak_tflop_per_s)
    passes = training_flops_ratio(adapter_parameters=adapter_parameters) + redone_fraction(
        recompute=recompute
    )
    operations = 2.0 * passes * parameters * global_batch * sequence_tokens
    result: Column = np.minimum(1.0, operations / (accelerators * peak_tflop_per_s * 1e12 * step_s))
    return result
