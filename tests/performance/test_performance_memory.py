"""Memory of one accelerator against published figures, and its properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.bundles import TrainingLayout, bundled, memory_bundles
from planner.performance.memory import (
    TrainingMemory,
    activation_gb,
    kv_cache_gb_per_token,
    largest_batch,
    layer_parameters,
    memory_shortage,
    serving_weights_gb,
    training_memory_gb,
    training_memory_parts,
    weights_optimizer_gb,
)

GIB = 2**30 / 1e9
MODEL_22B = {"layers": 48, "hidden": 6144, "heads": 64, "tp": 8, "pp": 1, "interleave": 1, "micro_batch": 4}
MODEL_530B = {
    "layers": 105,
    "hidden": 20480,
    "heads": 128,
    "tp": 8,
    "pp": 35,
    "interleave": 3,
    "micro_batch": 1,
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
    "accelerators": 64,
    "global_batch": 128,
    "pp": 1,
    "interleave": 1,
    "cp": 1,
    "micro_batch": 1,
    "sequence_parallel": 1,
    "fused_attention": 1,
}


@pytest.mark.parametrize(("model", "expected_gib"), [(MODEL_22B, 45.5625), (MODEL_530B, 31.640625)])
def test_weights_and_optimizer_of_megatron(model, expected_gib):
    """Calculon's validation data after 2205.05198: 18 bytes a parameter, 12 L h^2 of them, none sharded."""
    held = 12.0 * model["hidden"] ** 2 * model["layers"] / (model["tp"] * model["pp"])

    got = weights_optimizer_gb(rank_parameters=held, data_parallel=1, sharding=0)

    assert got / GIB == pytest.approx(expected_gib, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "recompute", "sequence_parallel", "expected_gib"),
    [
        (MODEL_22B, 0, 0, 59.25),
        (MODEL_22B, 1, 1, 9.5625),
        (MODEL_530B, 0, 0, 114.0234),
        (MODEL_530B, 1, 1, 23.0762),
    ],
)
def test_activations_of_megatron(model, recompute, sequence_parallel, expected_gib):
    """Calculon's validation data after Korthikanti et al., 2205.05198; all printed digits."""
    got = activation_gb(
        **bundled(
            {
                **model,
                "sequence_tokens": 2048,
                "cp": 1,
                "micro_batches": 280,
                "recompute": recompute,
                "sequence_parallel": sequence_parallel,
                "fused_attention": 0,
                "sharding": 0,
            },
            layout=TrainingLayout,
        )
    )

    assert got / GIB == pytest.approx(expected_gib, rel=2e-6)


def test_fused_attention_keeps_what_selective_recompute_keeps():
    """Both leave out the scores: 5 a s/(h t) of 34/t + 5 a s/(h t) per value (2205.05198, table 2)."""
    common = MODEL_22B | {"sequence_tokens": 2048, "cp": 1, "micro_batches": 1, "sequence_parallel": 1}

    fused = activation_gb(
        **bundled({**common, "recompute": 0, "fused_attention": 1, "sharding": 0}, layout=TrainingLayout)
    )
    selective = activation_gb(
        **bundled({**common, "recompute": 1, "fused_attention": 0, "sharding": 0}, layout=TrainingLayout)
    )

    assert fused == selective


@pytest.mark.parametrize(
    ("shape", "layers", "tables", "published"),
    [
        (
            {"hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "gated": 1},
            32,
            2 * 128256 * 4096,
            8.03e9,
        ),
        (
            {"hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672, "gated": 1},
            80,
            2 * 32000 * 8192,
            68.98e9,
        ),
        (
            {"hidden": 16384, "heads": 128, "kv_heads": 8, "ffn": 53248, "gated": 1},
            126,
            2 * 128256 * 16384,
            405.85e9,
        ),
        (
            {"hidden": 12288, "heads": 96, "kv_heads": 96, "ffn": 49152, "gated": 0},
            96,
            51200 * 12288,
            174.6e9,
        ),
    ],
)
def test_layer_parameters_add_up_to_the_published_models(shape, layers, tables, published):
    """Llama-3-8B, Llama-2-70B, Llama-3.1-405B (safetensors counts) and GPT-3 (Brown et al., table 2.1)."""
    assert layers * layer_parameters(**shape) + tables == pytest.approx(published, rel=2e-3)


def test_kv_cache_of_llama_2_70b():
    """80 layers x 8 heads x 128 x 2 x 2 bytes = 327,680 bytes a token (eight heads in place of 64)."""
    got = kv_cache_gb_per_token(layers=80, kv_heads=8, head_dim=128, kv_bytes=2, tp=1)

    assert got * 1e9 == 327_680
    # Eight heads cannot be split over sixteen accelerators: the cache is repeated.
    assert kv_cache_gb_per_token(layers=80, kv_heads=8, head_dim=128, kv_bytes=2, tp=16) == got / 8


def test_a_13b_model_on_an_a100_leaves_room_for_15_thousand_tokens():
    """PagedAttention, SOSP'23, table 1: OPT-13B on A100-40: 26 GB weights, 12 GB for 15.7 K slots."""
    per_token = kv_cache_gb_per_token(layers=40, kv_heads=40, head_dim=128, kv_bytes=2, tp=1)
    slots = largest_batch(
        memory_gb=26 + 12 * GIB,
        usable_fraction=1.0,
        weights_gb=serving_weights_gb(parameters=13e9, weight_bytes=2, tp=1),
        kv_cache_gb_per_token=per_token,
        context_tokens=1,
        batch_limit=1e9,
    )

    assert slots == pytest.approx(15_700, rel=0.005)


def test_batch_is_zero_where_weights_fill_the_memory_and_stops_at_the_engine_limit():
    column = largest_batch(
        memory_gb=np.array([80.0, 80.0, 141.0]),
        usable_fraction=0.9,
        weights_gb=np.array([140.0, 20.0, 16.0]),
        kv_cache_gb_per_token=131072e-9,
        context_tokens=2048,
        batch_limit=256,
    )

    assert column.tolist() == [0, np.floor(52 / (131072e-9 * 2048)), 256]


def test_the_limit_of_an_engine_is_for_all_stages_together():
    """`max_num_seqs` counts all that run: of 1,024 three stages hold 341 each, memory permitting."""
    each = {
        "memory_gb": 80.0,
        "usable_fraction": 0.9,
        "weights_gb": 16.0,
        "kv_cache_gb_per_token": 1e-5,
        "context_tokens": 1000.0,
        "batch_limit": 1024.0,
    }

    assert [float(largest_batch(**each, pp=pp)) for pp in (1.0, 2.0, 3.0)] == [1024.0, 512.0, 341.0]
    tight = each | {"context_tokens": 50_000.0}
    assert [float(largest_batch(**tight, pp=pp)) for pp in (1.0, 8.0)] == [112.0, 112.0]


@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    sharding=st.sampled_from([0, 1, 2]),
    recompute=st.sampled_from([0, 1]),
)
def test_memory_falls_with_every_way_of_splitting(tp, sharding, recompute):
    """More sharding, more tensor parallelism and more recomputation never need more memory."""

    def needed(**change):
        return training_memory_gb(
            **memory_bundles(LLAMA_8B | {"tp": tp, "sharding": sharding, "recompute": recompute} | change)
        )

    assert needed(sharding=sharding + 1) < needed() or (
        sharding == 2 and needed(sharding=3) < needed(sharding=1)
    )
    assert needed(recompute=recompute + 1) <= needed()
    if tp < 8:
        assert needed(tp=2 * tp, sharding=0) < needed(sharding=0)


@given(
    layers=st.integers(1, 128),
    heads=st.integers(1, 128),
    ffn=st.integers(128, 65536),
    tokens=st.integers(1, 2**18),
    batch=st.integers(1, 64),
    larger=st.integers(1, 8),
    tp=st.sampled_from([1, 2, 4, 8]),
    recompute=st.sampled_from([0, 1, 2]),
    sharding=st.sampled_from([0, 1, 2, 3]),
    fused=st.integers(0, 1),
    sequence_parallel=st.integers(0, 1),
)
def test_memory_grows_with_batch_and_length(
    layers, heads, ffn, tokens, batch, larger, tp, recompute, sharding, fused, sequence_parallel
):
    """Activations and logits grow in step with the micro-batch, at least so with the length; nothing else."""
    model = {
        "layers": layers,
        "hidden": 128 * heads,
        "heads": heads,
        "kv_heads": 1,
        "ffn": ffn,
        "gated": 1,
        "vocabulary": 32000,
        "accelerators": 64,
        "global_batch": 64 * batch * larger,
        "tp": tp,
        "pp": 1,
        "interleave": 1,
        "cp": 1,
        "recompute": recompute,
        "sharding": sharding,
        "fused_attention": fused,
        "sequence_parallel": sequence_parallel,
        "sequence_tokens": tokens,
        "micro_batch": batch,
    }

    small = training_memory_parts(**memory_bundles(model))
    wide = training_memory_parts(**memory_bundles(model | {"micro_batch": batch * larger}))
    long = training_memory_parts(**memory_bundles(model | {"sequence_tokens": tokens * larger}))

    assert wide.activations_gb == pytest.approx(larger * small.activations_gb, rel=1e-9)
    assert wide.logits_gb == pytest.approx(larger * small.logits_gb, rel=1e-9)
    assert long.activations_gb >= larger * small.activations_gb * (1 - 1e-12)
    assert wide.weights_optimizer_gb == long.weights_optimizer_gb == small.weights_optimizer_gb
    assert min(wide.total_gb, long.total_gb) >= small.total_gb


@given(
    memory=st.floats(8, 500),
    used=st.floats(0.1, 1),
    weights=st.floats(0.1, 600),
    layers=st.integers(1, 128),
    heads=st.integers(1, 128),
    tp=st.sampled_from([1, 2, 4, 8, 16]),
    tokens=st.integers(1, 10**6),
)
def test_a_served_batch_fits_and_one_more_does_not(memory, used, weights, layers, heads, tp, tokens):
    """What a batch of caches fills: within the usable memory, and beyond it with one request more."""
    each = kv_cache_gb_per_token(layers=layers, kv_heads=heads, head_dim=128, kv_bytes=2, tp=tp)
    batch = largest_batch(
        memory_gb=memory,
        usable_fraction=used,
        weights_gb=weights,
        kv_cache_gb_per_token=each,
        context_tokens=tokens,
        batch_limit=10**12,
    )

    filled = weights + np.array([batch, batch + 1]) * tokens * each
    assert filled[0] <= max(used * memory, weights) * (1 + 1e-12)
    assert filled[1] > used * memory * (1 - 1e-12)


def test_a_column_gives_what_its_entries_give():
    tp, recompute = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 1.0, 2.0, 2.0])

    together = training_memory_gb(
        **memory_bundles({**LLAMA_8B, "tp": tp, "recompute": recompute, "sharding": 1})
    )

    alone = [
        training_memory_gb(**memory_bundles({**LLAMA_8B, "tp": t, "recompute": r, "sharding": 1}))
        for t, r in zip(tp, recompute, strict=True)
    ]
    assert together.tolist() == alone


@pytest.mark.parametrize(
    ("change", "message"),
    [({"tp": 0}, "tp must be above zero, got 0"), ({"layers": -1}, "layers must be above zero, got -1")],
)
def test_impossible_shapes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        training_memory_gb(**memory_bundles(LLAMA_8B | {"tp": 1, "recompute": 0, "sharding": 1} | change))


def test_the_reason_names_what_fills_the_memory():
    """8 B with 18 bytes a weight on one copy: 144 GB of state; long sequences instead fill activations."""
    whole = LLAMA_8B | {"tp": 1, "recompute": 0, "sharding": 0}
    states = training_memory_parts(**memory_bundles(whole | {"sequence_tokens": 1024}))
    activations = training_memory_parts(
        **memory_bundles(whole | {"tp": 8, "sharding": 3, "micro_batch": 2, "sequence_tokens": 131072})
    )

    assert "weights and optimizer state take 144.5 GB: shard them" in memory_shortage(
        memory=states, memory_gb=80, usable_fraction=0.9
    )
    for frozen, cure in ((False, ', or adapters next to frozen weights (method = "lora")'), (True, "")):
        said = memory_shortage(memory=states, memory_gb=80, usable_fraction=0.9, frozen=frozen)
        assert said.endswith(f": more accelerators, or ones with more memory{cure}")
    assert "activations take" in memory_shortage(memory=activations, memory_gb=80, usable_fraction=0.9)
    assert memory_shortage(memory=states, memory_gb=1e6, usable_fraction=0.9) == ""
    parts = [getattr(states, name) for name in TrainingMemory.__slots__ if name != "total_gb"]
    assert sum(parts) == pytest.approx(states.total_gb, rel=1e-12)
    assert states.total_gb == training_memory_gb(**memory_bundles(whole | {"sequence_tokens": 1024}))
