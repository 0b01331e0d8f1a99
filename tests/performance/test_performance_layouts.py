"""The layout search against measured systems, trying everything, and its own rules."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from performance_constants import FITTED, HARDWARE, MODERN, hardware_arguments

from planner.performance.bundles import (
    Split,
    SplitLimits,
    bundled,
    memory_bundles,
    search_bundles,
    step_bundles,
)
from planner.performance.layouts import (
    Layout,
    NoLayout,
    best_layout,
    layout_candidates,
    recompute_says,
    require_layout,
)
from planner.performance.memory import layer_parameters, training_memory_gb, training_memory_parts
from planner.performance.throughput import mfu_fraction, model_flops_per_token, tokens_per_s_per_gpu
from planner.performance.training import training_step_s

LLAMA_405B = {
    "layers": 126,
    "hidden": 16384,
    "heads": 128,
    "kv_heads": 8,
    "ffn": 53248,
    "gated": 1,
    "vocabulary": 128256,
    "sequence_tokens": 8192,
}
GPT3 = {
    "layers": 96,
    "hidden": 12288,
    "heads": 96,
    "kv_heads": 96,
    "ffn": 49152,
    "gated": 0,
    "vocabulary": 51200,
    "sequence_tokens": 2048,
}
LLAMA_8B = {
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "ffn": 14336,
    "gated": 1,
    "vocabulary": 128256,
    "sequence_tokens": 8192,
}
USABLE = 0.92


def search(model, chip, accelerators, global_batch, precision="fp8", **change):
    return best_layout(
        **search_bundles(
            model
            | {
                "accelerators": accelerators,
                "global_batch": global_batch,
                "memory_gb": HARDWARE[chip]["memory_gb"],
                "usable_fraction": USABLE,
            }
            | MODERN
            | FITTED
            | hardware_arguments(chip, precision)
            | change
        )
    )


@pytest.mark.parametrize(
    ("model", "chip", "accelerators", "global_batch", "sequences_per_s", "within"),
    [
        (GPT3, "H100-80GB-SXM", 256, 2048, 208_834 / 2048, 0.10),
        (GPT3, "H100-80GB-SXM", 512, 2048, 404_455 / 2048, 0.10),
        (GPT3, "H100-80GB-SXM", 1536, 3072, 1_107_153 / 2048, 0.10),
        (LLAMA_405B, "H100-80GB-SXM", 512, 1152, 20.862, 0.13),
        (LLAMA_405B, "H100-80GB-SXM", 2048, 1152, 80.826, 0.13),
        (LLAMA_405B, "H100-80GB-SXM", 8192, 1536, 292.19, 0.10),
        (LLAMA_405B, "H200-141GB-SXM", 512, 1152, 22.993, 0.15),
        (LLAMA_405B, "GB200-NVL72", 512, 896, 46.372, 0.05),
        (LLAMA_405B, "GB200-NVL72", 2048, 1280, 178.155, 0.05),
    ],
)
def test_chosen_layouts_reach_measured_throughput(
    model, chip, accelerators, global_batch, sequences_per_s, within
):
    """MLPerf Training v4.1 (GPT-3) and v5.0 (Llama 3.1 405B) result logs; no row was used in the fit.

    Ours is 1 to 14 % slow on H100 and H200, where these runs hide more of their exchanges than others do.
    Derived from the logs' throughput keys; result not verified by MLCommons Association.
    """
    found = search(model, chip, accelerators, global_batch)

    assert isinstance(found, Layout)
    assert found.tokens_per_s_per_gpu * accelerators / model["sequence_tokens"] == pytest.approx(
        sequences_per_s, rel=within
    )


@pytest.mark.parametrize(
    ("accelerators", "global_batch", "tokens_per_s"), [(768, 3072, 516_208), (8192, 4096, 4_483_626)]
)
def test_older_software_is_slower_by_one_factor(accelerators, global_batch, tokens_per_s):
    """MLPerf v3.1 (2023) GPT-3: from v3.1 to v4.1 NVIDIA itself gained 404,455 / 345,322 at 512 H100."""
    found = search(GPT3, "H100-80GB-SXM", accelerators, global_batch)

    vintage = 345_322 / 404_455
    assert isinstance(found, Layout)
    assert found.tokens_per_s_per_gpu * accelerators * vintage == pytest.approx(tokens_per_s, rel=0.10)


@pytest.mark.slow
def test_the_choice_is_the_best_of_all_that_fit():
    """Independent route: time every enumerated layout one after the other and take the shortest that fits."""
    columns = layout_candidates(
        **bundled(
            {
                "accelerators": 64,
                "global_batch": 128,
                "layers": 32,
                "heads": 32,
                "kv_heads": 8,
                "sequence_tokens": 8192,
                "link_domain": 8,
            },
            limits=SplitLimits,
        )
    )
    ranks = columns.pop("dp")
    shape = LLAMA_8B | {"accelerators": 64, "global_batch": 128}
    best = np.inf
    for i in range(len(ranks)):
        layout = {name: float(column[i]) for name, column in columns.items()}
        memory = training_memory_gb(
            **memory_bundles({**shape, **layout, "sequence_parallel": 1, "fused_attention": 1})
        )
        if memory <= USABLE * 80:
            step = training_step_s(
                **step_bundles(
                    {**shape, **layout, **FITTED, **MODERN, **hardware_arguments("H100-80GB-SXM", "bf16")}
                )
            )
            best = min(best, float(step.total_s))

    found = search(LLAMA_8B, "H100-80GB-SXM", 64, 128, "bf16")

    assert isinstance(found, Layout)
    assert found.step_s == pytest.approx(best, rel=1e-12)
    assert found.enumerated == len(ranks)


MIXTRAL = {
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "ffn": 14336,
    "gated": 1,
    "vocabulary": 32000,
    "sequence_tokens": 4096,
    "experts": 8,
    "experts_per_token": 2,
}


@pytest.mark.parametrize(
    ("model", "chip", "accelerators", "global_batch", "change"),
    [
        (LLAMA_8B, "A100-40GB-SXM", 8, 8, {}),
        (LLAMA_8B, "H100-80GB-SXM", 152, 1216, {}),
        (GPT3, "A100-80GB-SXM", 1536, 1536, {}),
        (GPT3, "GB200-NVL72", 576, 1152, {"shard_gradients": 1}),
        (LLAMA_405B, "H200-141GB-SXM", 512, 1024, {}),
        (LLAMA_405B, "H100-80GB-SXM", 64, 256, {"adapter_parameters": 2e6}),
        (MIXTRAL, "H100-80GB-SXM", 128, 1024, {}),
    ],
)
def test_nothing_that_fits_is_faster(model, chip, accelerators, global_batch, change):
    """Brute force: memory and time of every layout, none left out because another recomputes less."""
    experts, extra = model.get("experts", 0), {n: v for n, v in change.items() if n != "shard_gradients"}
    columns = layout_candidates(
        **bundled(
            {
                "accelerators": accelerators,
                "global_batch": global_batch,
                "layers": model["layers"],
                "heads": model["heads"],
                "kv_heads": model["kv_heads"],
                "sequence_tokens": model["sequence_tokens"],
                "link_domain": HARDWARE[chip]["link_domain"],
                "experts": experts,
                "shard_gradients": change.get("shard_gradients", 0),
            },
            limits=SplitLimits,
        )
    )
    ranks = columns.pop("dp")
    every = model | extra | columns | {"accelerators": accelerators, "global_batch": global_batch}
    needed = training_memory_parts(
        **memory_bundles({**every, "sequence_parallel": 1, "fused_attention": 1})
    ).total_gb
    times = training_step_s(
        **step_bundles(every | FITTED | MODERN | hardware_arguments(chip, "bf16"))
    ).total_s
    fits = needed <= USABLE * HARDWARE[chip]["memory_gb"]

    found = search(model, chip, accelerators, global_batch, "bf16", **change)

    assert isinstance(found, Layout)
    best = int(np.argmin(np.where(fits, times, np.inf)))
    # Whole layers are redone in no more of them than has to be.
    assert found.step_s < times[best] if 1 < found.recompute < 2 else found.step_s == times[best]
    assert (found.enumerated, found.fitting) == (len(ranks), int(fits.sum()))
    assert found.memory_gb <= USABLE * HARDWARE[chip]["memory_gb"]
    assert found.memory_gb == pytest.approx(
        training_memory_parts(
            **memory_bundles(
                {
                    **every | {name: getattr(found, name) for name in columns},
                    "sequence_parallel": 1,
                    "fused_attention": 1,
                }
            )
        ).total_gb,
        rel=1e-8,
    )


def test_a_share_of_the_layers_is_redone():
    """21 of 80 layers: 0.2625 of what redoing all adds, to the step and off the memory; words say the share.

    Megatron-LM knows it as `--recompute-num-layers`; AMD's adapters of Llama 2 70B on MI300X ran so.
    """
    model = LLAMA_8B | {
        "layers": 80,
        "accelerators": 64,
        "global_batch": 128,
        "tp": 4,
        "pp": 1,
        "interleave": 1,
        "cp": 1,
    }
    every = model | {"micro_batch": 1, "sharding": 3, "sequence_parallel": 1, "fused_attention": 1}
    hardware = FITTED | MODERN | hardware_arguments("H100-80GB-SXM", "bf16")
    codes = (1 + 1e-12, 1 + 21 / 80, 2.0)
    took = [training_step_s(**step_bundles(every | hardware | {"recompute": r})) for r in codes]
    held = [training_memory_parts(**memory_bundles(every | {"recompute": r})).activations_gb for r in codes]

    for none, some, full in ([one.matrix_s for one in took], [one.attention_s for one in took], held):
        assert some == pytest.approx(none + 21 / 80 * (full - none))
    assert took[0].total_s < took[1].total_s < took[2].total_s
    assert held[0] > held[1] > held[2]
    words = ["none", "selective", "full in 26% of layers", "full"]
    assert [recompute_says(r) for r in (0, 1, *codes[1:])] == words


def test_layouts_divide_evenly_and_tensors_stay_in_the_fast_domain():
    """2,432 = 19 x 128 accelerators need 19 or more model copies: no power of two."""
    columns = layout_candidates(
        **bundled(
            {
                "accelerators": 2432,
                "global_batch": 1216,
                "layers": 126,
                "heads": 128,
                "kv_heads": 8,
                "sequence_tokens": 8192,
                "link_domain": 8,
            },
            limits=SplitLimits,
        )
    )
    tp, pp, v, cp, dp, b = (columns[n] for n in ("tp", "pp", "interleave", "cp", "dp", "micro_batch"))
    held = np.ceil(126 / pp)
    rounds = 1216 / (dp * b)

    assert (tp * pp * cp * dp == 2432).all()
    assert set(np.unique(tp)) == {1, 2, 4, 8}
    assert (dp == np.round(dp)).all()
    assert (dp % 19 == 0).all()
    assert (rounds == np.round(rounds)).all()
    assert (held % v == 0).all()
    assert (held * pp - 126 <= 2).all()
    assert (rounds[v > 1] % pp[v > 1] == 0).all()
    assert (columns["sharding"][pp > 1] == 1).all()
    assert 16 in pp  # 126 layers on 16 stages, as Llama 3.1 405B was trained


def test_software_that_keeps_weights_whole_is_given_no_zero_3():
    sizes = {"accelerators": 8, "global_batch": 8, "layers": 80, "heads": 64, "kv_heads": 8}
    known = layout_candidates(**sizes, sequence_tokens=8192, link_domain=8)
    whole = layout_candidates(
        **sizes, sequence_tokens=8192, link_domain=8, limits=SplitLimits(shard_weights=0)
    )

    assert set(known["sharding"]) == {1.0, 3.0}
    assert set(whole["sharding"]) == {1.0}
    assert len(whole["tp"]) == np.sum(known["sharding"] == 1)


def test_no_layout_says_why():
    too_big = search(LLAMA_405B, "A100-40GB-SXM", 8, 8, "bf16")

    assert isinstance(too_big, NoLayout)
    assert too_big.smallest_memory_gb > 405e9 * 18 / 8 / 1e9 * 0.9
    assert "36.8 GB of 40 GB are usable" in too_big.reason
    # A prime batch larger than what tensors, stages and context can split leaves no whole number of copies.
    assert search(LLAMA_8B | {"layers": 29}, "H100-80GB-SXM", 88 * 64, 127) == NoLayout(
        "no layout divides 5632 accelerators, 29 layers and a batch of 127 sequences; 132 of them, 1,081,344 "
        "tokens, would do",
        np.inf,
    )
    assert isinstance(search(LLAMA_8B | {"layers": 29}, "H100-80GB-SXM", 88 * 64, 132), Layout)
    # It says what fills the memory and what would help.
    assert "weights and optimizer state take" in too_big.reason
    assert "more accelerators, or ones with more memory" in too_big.reason


def test_nineteen_nodes_want_a_batch_with_their_factor():
    """19 x 8 H100: 1,024 sequences leave no whole number of copies, 1,026 = 54 x 19 do."""
    refused = search(LLAMA_8B, "H100-80GB-SXM", 19 * 8, 1024, "bf16")
    found = search(LLAMA_8B, "H100-80GB-SXM", 19 * 8, 1026, "bf16")

    assert isinstance(refused, NoLayout)
    assert refused.reason.endswith("a batch of 1024 sequences; 1026 of them, 8,404,992 tokens, would do")
    assert isinstance(found, Layout)
    assert found.dp % 19 == 0


def test_a_batch_of_round_tokens_gets_the_nearest_that_divides():
    """16 million tokens in sequences of 8,192 are 1,953 of them: 2,048 accelerators want an even number."""
    refused = search(LLAMA_8B | {"layers": 10}, "H100-80GB-SXM", 2048, 1953)

    assert isinstance(refused, NoLayout)
    assert "1952 of them" in refused.reason
    assert isinstance(search(LLAMA_8B | {"layers": 10}, "H100-80GB-SXM", 2048, 1952), Layout)


def test_gradients_may_be_sharded_too():
    """ZeRO-2 beside 1 and 3 can only win or tie: it is one more choice."""
    usual = search(GPT3, "H100-80GB-SXM", 256, 2048)
    more = search(GPT3, "H100-80GB-SXM", 256, 2048, shard_gradients=1)

    assert more.step_s <= usual.step_s
    assert more.enumerated > usual.enumerated


STATED = {
    "accelerators": 64,
    "global_batch": 128,
    "layers": 32,
    "heads": 32,
    "kv_heads": 8,
    "sequence_tokens": 8192,
    "tp": 8,
    "pp": 2,
    "interleave": 4,
    "cp": 1,
    "micro_batch": 1,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"tp": 3},
            "tp x pp x cp = 6 does not divide 64 accelerators; tp 3 does not divide 32 heads: take 2 or 4",
        ),
        ({"tp": 64, "pp": 1, "heads": 32}, "tp 64 does not divide 32 heads: take 32$"),
        ({"kv_heads": 6}, "tp 8 does not divide 6 kv_heads: take 2$"),
        ({"pp": 64}, "pp 64 is more than 32 layers"),
        ({"interleave": 5}, "interleave 5 does not divide 16 layers of a stage: take 4 or 8"),
        ({"cp": 3}, "cp 3 does not divide 8192 tokens: take 2 or 4"),
        ({"micro_batch": 3}, "dp 4 x micro_batch 3 does not divide a batch of 128: take 120 or 132"),
        ({"ep": 4}, "ep 4 needs a model with experts"),
        ({"ep": 3, "experts": 8}, "ep 3 does not divide 8 experts: take 2 or 4"),
        ({"ep": 64, "experts": 64}, "ep 64 does not divide the 64/2 accelerators of a stage"),
        ({"heads": 0}, "heads and kv_heads must be at least 1, got 0 and 8"),
    ],
)
def test_a_layout_that_does_not_divide_is_named(change, message):
    require_layout(**bundled(STATED, split=Split))
    with pytest.raises(ValueError, match=message):
        require_layout(**bundled(STATED | change, split=Split))


def test_uneven_stages_take_uneven_chunks():
    """DeepSeek-V3 has 61 layers; Megatron-Bridge publishes it in 2 stages of 8 chunks on GB300."""
    published = {"layers": 61, "pp": 2, "interleave": 8}

    require_layout(**bundled(STATED | published, split=Split))
    with pytest.raises(ValueError, match="interleave 12 does not divide 32 layers"):
        require_layout(**bundled(STATED | published | {"layers": 64, "interleave": 12}, split=Split))
    with pytest.raises(ValueError, match="interleave 32 does not divide 31 layers"):
        require_layout(**bundled(STATED | published | {"interleave": 32}, split=Split))


def test_less_memory_is_never_faster():
    """The same search in less memory can only lose layouts."""
    times = [search(GPT3, "H100-80GB-SXM", 256, 2048, memory_gb=gb).step_s for gb in (60, 80, 141)]

    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


def test_a_layout_says_itself():
    assert search(LLAMA_405B, "H100-80GB-SXM", 8192, 1536).says() == (
        "TP8 PP16x8 CP2 DP32, micro-batch 1, recompute none, ZeRO-1"
    )


# Properties over every layout of a drawn model on drawn hardware


@st.composite
def every_layout(draw):
    """A dense model, hardware, and all layouts that divide, as arguments of the step."""
    heads = draw(st.sampled_from([8, 16, 24, 40, 64, 96]))
    shape = {
        "layers": draw(st.integers(4, 128)),
        "hidden": 128 * heads,
        "heads": heads,
        "kv_heads": draw(st.sampled_from([n for n in (1, 4, 8, heads) if heads % n == 0])),
        "ffn": 128 * draw(st.integers(heads, 8 * heads)),
        "gated": draw(st.integers(0, 1)),
        "vocabulary": draw(st.integers(1000, 300_000)),
        "sequence_tokens": 2 ** draw(st.integers(9, 17)),
    }
    domain = draw(st.sampled_from([8, 16, 72]))
    size = {"accelerators": draw(st.sampled_from([8, 24, 64, 152, 512, 1536])), "link_domain": domain}
    size["global_batch"] = size["accelerators"] * draw(st.integers(1, 8))
    columns = layout_candidates(
        **bundled(
            {
                **{name: shape[name] for name in ("layers", "heads", "kv_heads", "sequence_tokens")},
                **size,
                "shard_gradients": 1,
            },
            limits=SplitLimits,
        )
    )
    columns.pop("dp")
    assume(len(columns["tp"]))
    peak = draw(st.floats(50, 5000))
    chip = {
        "matrix_tflop_per_s": peak,
        "attention_tflop_per_s": peak,
        "memory_gb_per_s": draw(st.floats(500, 20_000)),
        "link_gb_per_s": draw(st.floats(20, 2000)),
        "network_gb_per_s": draw(st.floats(1, 400)),
        "matrix_efficiency_fraction": draw(st.floats(0.2, 1)),
        "precision_factor": 1.0,
    }
    # From nothing but multiplications, which come close to the peak, to what was fitted.
    overhead = draw(st.sampled_from([0.0, 0.1, 1.0]))
    constants = {name: overhead * value for name, value in (FITTED | MODERN).items() if name in OVERHEADS}
    constants |= {
        "attention_efficiency_fraction": draw(st.floats(0.2, 1)),
        "data_parallel_hidden_fraction": draw(st.floats(0, 1)),
    }
    return FITTED | MODERN | constants | shape | size | columns | chip


OVERHEADS = (
    "hidden_half_width",
    "tokens_half",
    "elementwise_bytes_per_value",
    "collective_latency_s",
    "fsdp_latency_s",
    "fsdp_exposed_fraction",
    "fixed_s",
    "scale_drag_ratio",
    "tensor_exposed_fraction",
    "pipeline_exposed_fraction",
)


@given(step=every_layout())
def test_no_layout_works_above_the_peak(step):
    """Useful operations never exceed what the efficiencies leave of the peak, however the model is split."""
    names = ("hidden", "heads", "kv_heads", "ffn", "gated")
    weights = step["layers"] * layer_parameters(**{name: step[name] for name in names})
    flops = model_flops_per_token(
        parameters=weights + step["vocabulary"] * step["hidden"],
        layers=step["layers"],
        heads=step["heads"],
        head_dim=128,
        sequence_tokens=step["sequence_tokens"],
        counted_scores_fraction=0.5,
    )
    rate = tokens_per_s_per_gpu(
        **{name: step[name] for name in ("global_batch", "sequence_tokens", "accelerators")},
        step_s=training_step_s(**step_bundles(step)).total_s,
    )
    used = mfu_fraction(
        tokens_per_s_per_gpu=rate, flops_per_token=flops, peak_tflop_per_s=step["matrix_tflop_per_s"]
    )

    reached = max(step["matrix_efficiency_fraction"], step["attention_efficiency_fraction"])
    assert (used <= reached * (1 + 1e-12)).all()


@pytest.mark.slow
@given(
    step=every_layout(),
    factor=st.floats(1.001, 20),
    name=st.sampled_from(
        [
            "matrix_tflop_per_s",
            "attention_tflop_per_s",
            "memory_gb_per_s",
            "link_gb_per_s",
            "network_gb_per_s",
        ]
    ),
)
def test_no_layout_is_slower_on_better_hardware(step, name, factor):
    """More bandwidth or more operations a second, of any kind: no layout of any model takes longer."""
    slow = training_step_s(**step_bundles(step)).total_s
    fast = training_step_s(**step_bundles(step | {name: factor * step[name]})).total_s

    assert (fast <= slow * (1 + 1e-12)).all()


@pytest.mark.slow
@given(step=every_layout())
def test_twice_the_copies_are_at_most_twice_as_fast(step):
    """Doubled data parallelism: at most twice the tokens a second, on the same batch or on twice the batch.

    On twice the batch this holds where nothing is sharded: each copy does what it did, and more is sent.
    """
    rate = step["global_batch"] / training_step_s(**step_bundles(step)).total_s
    plain = step | {"sharding": 0.0}
    plain_rate = step["global_batch"] / training_step_s(**step_bundles(plain)).total_s
    more = {"accelerators": 2 * step["accelerators"], "global_batch": 2 * step["global_batch"]}
    rounds = (
        step["global_batch"]
        * step["tp"]
        * step["pp"]
        * step["cp"]
        / step["accelerators"]
        / step["micro_batch"]
    )
    halved = step | {name: column[rounds >= 2] for name, column in step.items() if np.ndim(column)}

    wide = more["global_batch"] / training_step_s(**step_bundles(plain | more)).total_s
    assert (wide <= 2 * plain_rate * (1 + 1e-12)).all()
    if (rounds >= 2).any():
        strong = (
            step["global_batch"]
            / training_step_s(**step_bundles(halved | {"accelerators": 2 * step["accelerators"]})).total_s
        )
        assert (strong <= 2 * rate[rounds >= 2] * (1 + 1e-12)).all()
