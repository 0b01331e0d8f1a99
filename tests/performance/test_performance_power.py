"""Power against counters and wall meters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_constants import B200_POWER, H100_POWER, HARDWARE, SERVED

from planner.performance.memory import kv_cache_gb_per_token
from planner.performance.power import (
    accelerator_power_kw,
    capped_power_kw,
    generation_power_kw,
    host_at_load_kw,
    node_power_kw,
    served_generation_power_kw,
    serving_compute_use_fraction,
    serving_memory_use_fraction,
    stalled_power_kw,
    training_compute_use_fraction,
    training_power_kw,
)

PROMPT = 90


@pytest.mark.parametrize(
    ("model", "chip", "tp", "batch", "answer", "size", "tokens_per_s", "watts", "within"),
    [
        ("Llama 3.1 8B", "H100-80GB-SXM", 1, 31.91, 390.3, 2, 3391.1, 559.71, 0.12),
        ("Llama 3.1 8B", "H100-80GB-SXM", 1, 127.6, 404.6, 2, 7036.5, 669.24, 0.12),
        ("Qwen 3 8B", "H100-80GB-SXM", 1, 255.5, 654.0, 2, 7718.8, 632.81, 0.12),
        ("Llama 3.3 70B", "H100-80GB-SXM", 4, 255.5, 413.3, 2, 5130.2, 2519.4, 0.12),
        ("Llama 3.1 405B", "H100-80GB-SXM", 8, 127.7, 360.9, 1, 1895.9, 4606.1, 0.12),
        ("Llama 3.1 8B", "B200-SXM", 1, 127.5, 395.6, 2, 4570.2, 449.33, 0.12),
        ("Qwen 3 32B", "B200-SXM", 1, 127.8, 634.1, 2, 4675.8, 975.6, 0.12),
        ("Llama 3.1 405B", "B200-SXM", 4, 127.7, 368.6, 1, 2170.3, 3849.8, 0.12),
    ],
)
def test_gpu_power_while_serving(model, chip, tp, batch, answer, size, tokens_per_s, watts, within):
    """ML.ENERGY v3, GPU power counters, at the measured step time, so that only the power law is tested.

    Rated power would say 700 or 1,000 W each: 29 to 43 % too much on average.
    """
    facts, hardware, step_s = SERVED[model], HARDWARE[chip], batch / tokens_per_s
    cache = kv_cache_gb_per_token(
        layers=facts["layers"], kv_heads=facts["kv_heads"], head_dim=facts["head_dim"], kv_bytes=2, tp=tp
    )
    one = accelerator_power_kw(
        tdp_kw=0.7 if chip.startswith("H100") else 1.0,
        memory_use_fraction=serving_memory_use_fraction(
            touched_gb=facts["parameters"] * size / tp / 1e9,
            cache_read_gb=cache * batch * (PROMPT + answer / 2),
            step_s=step_s,
            memory_gb_per_s=hardware["memory_gb_per_s"],
        ),
        compute_use_fraction=serving_compute_use_fraction(
            active_parameters=facts["parameters"],
            tp=tp,
            step_tokens=batch * (1 + PROMPT / answer),
            step_s=step_s,
            peak_tflop_per_s=hardware["fp8" if size == 1 else "bf16"],
        ),
        **(H100_POWER if chip.startswith("H100") else B200_POWER),
    )

    assert one * tp * 1e3 == pytest.approx(watts, rel=within)


def test_node_power_while_training():
    """MLPerf Training v4.0 power logs: 64 nodes of 8 H100, GPT-3 in FP8, 6,848 W a node (SMC), within 6 %.

    404,455 tokens/s on 512 H100 (v4.1) gives the utilisation; a host of 1.5 kW is the low end of its range.
    """
    compute = training_compute_use_fraction(
        parameters=175e9,
        recompute=0,
        global_batch=2048,
        sequence_tokens=2048,
        accelerators=512,
        step_s=2048 * 2048 / 404_455,
        peak_tflop_per_s=1979,
    )
    one = accelerator_power_kw(
        tdp_kw=0.7, memory_use_fraction=0.1, compute_use_fraction=compute, **H100_POWER
    )

    node = node_power_kw(host_kw=1.5, accelerators=8, accelerator_kw=one)

    assert compute == pytest.approx(404_455 / 512 * 6 * 175e9 / 1979e12, rel=1e-12)
    assert node == pytest.approx(6.848, rel=0.06)


@pytest.mark.parametrize(
    ("limit_w", "measured_w", "within"),
    [(500, 6153, 0.07), (350, 4775, 0.05)],
)
def test_a_limit_on_every_accelerator_sets_the_power_of_a_node(limit_w, measured_w, within):
    """MLPerf Inference v4.1 MaxQ, 8 H200 at the plug: llama2-70b limited to 500 W each, GPT-J to 350 W each.

    Limits are those of the submission's configuration; the host of 1.75 kW was measured on an H100 node.
    """
    one = capped_power_kw(power_kw=0.7, cap_kw=limit_w / 1e3)

    node = node_power_kw(host_kw=1.75, accelerators=8, accelerator_kw=one)

    assert 1e3 * node == pytest.approx(measured_w, rel=within)


@given(
    load=st.floats(0.01, 3),
    more=st.floats(0.01, 1),
    sustained=st.floats(0.5, 1),
    turn=st.floats(4, 10),
)
def test_power_turns_round_below_what_is_held(load, more, sustained, turn):
    """It rises with the load, never passes the share that is held, and little is lost far below it."""
    law = {"tdp_kw": 1.0, "memory_use_fraction": 0.0, "memory_factor": 1.0, "compute_factor": 4.0}
    law |= {"compute_use_fraction": 0.0, "sustained_fraction": sustained, "turn_exponent": turn}
    one, higher = (generation_power_kw(idle_share_factor=x, **law) for x in (load, load + more))

    assert one < higher < sustained
    assert one <= load * (1 + 1e-12)
    if load < 0.4 * sustained:
        assert one > 0.99 * load
    assert generation_power_kw(idle_share_factor=sustained, **law) == pytest.approx(
        sustained / 2 ** (1 / turn)
    )


def test_making_at_a_load_idles_in_between():
    """Half of the time at what making draws, half at what waiting with the weights loaded does."""
    law = {"tdp_kw": 0.7, "memory_use_fraction": 0.2, "compute_use_fraction": 0.1}
    law |= {
        "idle_share_factor": 0.2,
        "memory_factor": 0.85,
        "compute_factor": 3.2,
        "sustained_fraction": 0.99,
        "turn_exponent": 6.0,
    }

    got = served_generation_power_kw(**law, loaded_idle_kw=0.12, busy_fraction=0.5)
    assert got == pytest.approx(0.5 * generation_power_kw(**law) + 0.06)


def test_waiting_in_exchanges_draws_less():
    """A quarter of the time in exchanges takes c4/4 of the rating off; no exchange, nothing."""
    use = {"tdp_kw": 0.7, "memory_use_fraction": 0.4, "compute_use_fraction": 0.1, **H100_POWER}
    alone = accelerator_power_kw(**use)

    assert accelerator_power_kw(**use, exchange_fraction=0.25, exchange_factor=0.3) == pytest.approx(
        alone - 0.7 * 0.3 / 4
    )
    assert accelerator_power_kw(**use, exchange_fraction=0.25) == alone


def test_adapters_compute_two_passes_less():
    """4 N a token beside frozen weights, 6 N where they are trained, 2 N more where forward runs twice."""
    step = {
        "parameters": 70e9,
        "global_batch": 8,
        "sequence_tokens": 8192,
        "accelerators": 8,
        "step_s": 4.0,
        "peak_tflop_per_s": 1979,
    }
    whole, adapted, again = (
        training_compute_use_fraction(**step, recompute=recompute, adapter_parameters=adapters)
        for recompute, adapters in ((0, 0.0), (0, 1e6), (2, 1e6))
    )

    assert adapted / whole == pytest.approx(4 / 6)
    assert again / whole == pytest.approx(1.0)


def test_idle_node():
    """MLPerf power logs: a node of 8 H100 idles at 2.0 to 2.3 kW; a GPU with a context draws 122 W."""
    assert 2.0 <= node_power_kw(host_kw=1.2, accelerators=8, accelerator_kw=0.122) <= 2.3


def test_stalls_and_caps():
    """A device that waits for a checkpoint falls to about 100 of 700 W; a cap only ever lowers."""
    assert stalled_power_kw(tdp_kw=0.7, stall_fraction=0.15) == pytest.approx(0.105)
    assert capped_power_kw(power_kw=np.array([0.3, 0.6]), cap_kw=0.35).tolist() == [0.3, 0.35]


@pytest.mark.parametrize(
    ("computing", "moving", "watts"),
    [(4.0, 0.0, 700.0), (0.0001, 3.9999, 0.7e3 * (0.3 + 0.4 * 0.85)), (0.0001, 0.0, 350.0)],
)
def test_a_step_draws_what_its_parts_draw(computing, moving, watts):
    """A step that only multiplied draws the rating, one that only moved values less, one that waited half.

    By hand: 30 % at no load, 40 % more for the whole memory bandwidth, of which 85 % is reached.
    """
    got = training_power_kw(
        tdp_kw=0.7,
        computing_s=computing,
        moving_s=moving,
        total_s=4.0,
        compute_use_fraction=0.6 * computing / 4.0,
        memory_efficiency_fraction=0.85,
        exchange_power_fraction=0.5,
        idle_share_factor=0.3,
        memory_factor=0.4,
        compute_factor=0.5,
        compute_root_factor=1.0,
    )

    assert 1e3 * got == pytest.approx(watts, rel=1e-3)


@given(computing=st.floats(0.1, 2.0), moving=st.floats(0.0, 2.0), use=st.floats(0.0, 1.0))
def test_a_busier_step_draws_no_less(computing, moving, use):
    """The less of a step is spent waiting, the more it draws, up to the rating."""
    law = {
        "tdp_kw": 0.7,
        "computing_s": computing,
        "moving_s": moving,
        "memory_efficiency_fraction": 0.85,
        "exchange_power_fraction": 0.3,
        **H100_POWER,
    }
    busy, waiting = (training_power_kw(**law, total_s=t, compute_use_fraction=use / t) for t in (4.0, 6.0))

    assert waiting <= busy * (1 + 1e-12)
    assert busy <= 0.7 * (1 + 1e-12)


def test_a_host_between_its_two_metered_states():
    """1,570 W while its H100 idle at 72 W, 1,750 W at the rating; half of the way at half of the load."""
    ends = {"host_idle_kw": 1.57, "host_kw": 1.75, "idle_kw": 0.072, "tdp_kw": 0.7}
    each = np.array([0.05, 0.072, 0.386, 0.7, 0.9])

    assert host_at_load_kw(accelerator_kw=each, **ends).tolist() == pytest.approx(
        [1.57, 1.57, 1.66, 1.75, 1.75]
    )


@given(
    memory=st.floats(0, 1),
    compute=st.floats(0, 1),
    more=st.floats(0, 1),
    law=st.sampled_from([H100_POWER, B200_POWER]),
)
def test_power_rises_with_use_and_stops_at_the_rating(memory, compute, more, law):
    low = accelerator_power_kw(tdp_kw=0.7, memory_use_fraction=memory, compute_use_fraction=compute, **law)
    high = accelerator_power_kw(
        tdp_kw=0.7,
        memory_use_fraction=memory + more * (1 - memory),
        compute_use_fraction=compute + more * (1 - compute),
        **law,
    )

    assert law["idle_share_factor"] * 0.7 <= low * (1 + 1e-12)
    assert low <= high * (1 + 1e-12)
    assert high <= 0.7


def test_use_outside_0_to_1_is_named():
    with pytest.raises(ValueError, match=r"compute_use_fraction is a share between 0 and 1, got 1\.5"):
        accelerator_power_kw(tdp_kw=0.7, memory_use_fraction=0.2, compute_use_fraction=1.5, **H100_POWER)
