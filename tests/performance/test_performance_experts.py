"""Mixture-of-experts models: their weights, their step, their layouts."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_constants import FITTED, HARDWARE, MODERN, hardware_arguments

from planner.performance.bundles import (
    Links,
    SplitLimits,
    bundled,
    memory_bundles,
    search_bundles,
    step_bundles,
)
from planner.performance.communication import expert_exchange_s
from planner.performance.experts import (
    expert_tokens,
    latent_attention_parameters,
    layer_weights,
    token_copies,
    whole_tiles_ratio,
)
from planner.performance.layouts import Layout, best_layout, layout_candidates
from planner.performance.memory import training_memory_parts
from planner.performance.training import StepTime, training_step_s
from planner.validation.forms import unbundled
from planner.validation.performance import train_model

LATENT = {
    "hidden": 7168,
    "heads": 128,
    "query_rank": 1536,
    "latent_rank": 512,
    "head_dim": 128,
    "rotary_dim": 64,
    "value_dim": 128,
}
DEEPSEEK_V3 = {
    "layers": 61,
    "hidden": 7168,
    "heads": 128,
    "kv_heads": 128,
    "ffn": 2048,
    "gated": 1,
    "vocabulary": 129280,
    "sequence_tokens": 4096,
    "experts": 256,
    "experts_per_token": 8,
    "shared_experts": 1,
    "head_dim": 160,
    "mixer_parameters": latent_attention_parameters(**LATENT),
    "most_domains_per_token": 4.0,
}
QWEN3_235B = {
    "layers": 94,
    "hidden": 4096,
    "heads": 64,
    "kv_heads": 4,
    "ffn": 1536,
    "gated": 1,
    "vocabulary": 151936,
    "sequence_tokens": 4096,
    "experts": 128,
    "experts_per_token": 8,
    "head_dim": 128,
}
QWEN3_30B = QWEN3_235B | {"layers": 48, "hidden": 2048, "heads": 32, "ffn": 768}
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
WEIGHTS = (
    "hidden",
    "heads",
    "kv_heads",
    "ffn",
    "gated",
    "experts",
    "experts_per_token",
    "shared_experts",
    "head_dim",
    "mixer_parameters",
)

# Megatron-Bridge performance summary, release 25.09, FP8: accelerators, batch, micro-batch, t, p, v, e and
# tokens a second of each accelerator. No constant was fitted on models with experts.
BRIDGE = [
    (DEEPSEEK_V3, "H100-80GB-SXM", 1024, 8192, 1, 2, 8, 4, 64, 1297),
    (QWEN3_30B, "H100-80GB-SXM", 16, 512, 2, 1, 2, 24, 8, 10494),
    (QWEN3_235B, "H100-80GB-SXM", 256, 2048, 1, 2, 8, 4, 32, 1204),
    (DEEPSEEK_V3, "GB200-NVL72", 256, 2048, 1, 1, 4, 4, 64, 3454),
    (QWEN3_30B, "GB200-NVL72", 8, 512, 4, 1, 1, 1, 8, 22775),
    (QWEN3_235B, "GB200-NVL72", 64, 1024, 1, 2, 1, 1, 64, 4452),
    (DEEPSEEK_V3, "B200-SXM", 256, 2048, 1, 1, 16, 1, 8, 2265),
    (QWEN3_30B, "B200-SXM", 8, 512, 1, 1, 1, 1, 8, 18066),
    (QWEN3_235B, "B200-SXM", 64, 1024, 1, 1, 8, 2, 8, 4104),
]


def weights_of(model, **change):
    return layer_weights(**{name: model[name] for name in WEIGHTS if name in model} | change)


def step(model=MIXTRAL, chip="H100-80GB-SXM", precision="bf16", **change) -> StepTime:
    layout = {
        "accelerators": 64,
        "global_batch": 512,
        "micro_batch": 1,
        "tp": 2,
        "pp": 2,
        "interleave": 1,
        "cp": 1,
        "ep": 8,
        "recompute": 0,
        "sharding": 1,
    }
    return training_step_s(
        **step_bundles(model | layout | FITTED | MODERN | hardware_arguments(chip, precision) | change)
    )


def test_weights_add_up_to_the_published_models():
    """Safetensors counts of Mixtral 8x7B and Qwen3-235B-A22B; 671 B and 37 B of DeepSeek-V3 (2412.19437).

    DeepSeek-V3's first three layers are dense with width 18,432; norms are left out everywhere.
    """
    mixtral, qwen, deepseek = weights_of(MIXTRAL), weights_of(QWEN3_235B), weights_of(DEEPSEEK_V3)
    dense = weights_of(DEEPSEEK_V3, experts=0, ffn=18432).common_parameters

    def total(model, one, active=False, layers=None):
        routed = one.active_routed_parameters if active else one.held_routed_parameters
        tables = 2 * model["vocabulary"] * model["hidden"]
        return (layers or model["layers"]) * (one.common_parameters + routed) + tables

    assert total(MIXTRAL, mixtral) == pytest.approx(46_702_792_704, rel=1e-4)
    assert total(MIXTRAL, mixtral, active=True) == pytest.approx(12_879_925_248, rel=1e-4)
    assert total(QWEN3_235B, qwen) == pytest.approx(235_093_634_560, rel=1e-4)
    assert total(DEEPSEEK_V3, deepseek, layers=58) + 3 * dense == pytest.approx(671e9, rel=1e-3)
    assert total(DEEPSEEK_V3, deepseek, True, layers=58) + 3 * dense == pytest.approx(37e9, rel=0.02)


def test_published_throughput_with_experts():
    """Nine runs of 2025: one factor is left, and each is predicted from the other eight within a quarter.

    The factor holds what no term sees: routing, permutations, kernels of several small experts.
    """
    names = {
        id(DEEPSEEK_V3): "deepseek-v3",
        id(QWEN3_30B): "qwen3-30b-a3b",
        id(QWEN3_235B): "qwen3-235b-a22b",
    }
    rates = []
    for model, chip, accelerators, batch, b, t, p, v, e, published in BRIDGE:
        rate = unbundled(train_model)(
            model=names[id(model)],
            gpu=chip,
            accelerators=accelerators,
            tp=t,
            pp=p,
            interleave=v,
            ep=e,
            global_batch=batch,
            micro_batch=b,
            sequence_tokens=4096,
            dp_sharding="none_or_optimizer",
            dtype="fp8",
            software="megatron-2025",
        )
        rates.append(rate / published)
    logs = np.log(rates)
    left_out = np.abs(np.exp(logs - (logs.sum() - logs) / (len(logs) - 1)) - 1)

    assert np.exp(logs.mean()) == pytest.approx(1.0, abs=0.02)
    assert np.median(left_out) < 0.15
    assert max(left_out) < 0.25


def test_the_exchange_has_its_own_network_efficiency():
    """Without one it gets that of gradients; at 0.51 of both nothing changes, at 0.255 twice the time."""
    own = {
        "model": DEEPSEEK_V3,
        "accelerators": 1024,
        "global_batch": 8192,
        "tp": 1,
        "pp": 8,
        "ep": 64,
        "collective_latency_s": 0.0,
    }
    none, same, slow = (
        step(**own, **change)
        for change in (
            {},
            {"expert_network_efficiency_fraction": 0.51},
            {"expert_network_efficiency_fraction": 0.255},
        )
    )

    assert none == same
    assert slow.expert_parallel_s == pytest.approx(2 * none.expert_parallel_s, rel=1e-12)
    assert slow.data_parallel_s == pytest.approx(none.data_parallel_s, rel=1e-12)


def test_one_expert_for_all_is_a_dense_layer_with_a_router():
    """E = k = 1 multiplies what a dense layer does and the h values of the router (1 of 53,000 here).

    Values that cross memory are counted for a network four times as wide as the model.
    """
    one = step(tp=1, pp=1, ep=1, experts=1, experts_per_token=1, ffn=4 * 4096)
    dense = step(tp=1, pp=1, ep=1, experts=0, experts_per_token=0, ffn=4 * 4096)

    assert one.expert_parallel_s == 0
    assert one.total_s == pytest.approx(dense.total_s, rel=1e-4)


def test_terms_add_up_to_the_total():
    for sharding in (0, 1, 2, 3):
        parts = step(sharding=sharding)
        names = [name for name in StepTime.__slots__ if name != "total_s"]

        assert sum(getattr(parts, name) for name in names) == pytest.approx(parts.total_s, rel=1e-12)
        assert parts.expert_parallel_s > 0.01 * parts.total_s


# Links of unit efficiency; 64 accelerators hold the experts, 8 for each token.
LINKS = Links(
    link_domain=8,
    link_gb_per_s=900.0,
    network_gb_per_s=50.0,
    link_efficiency_fraction=1.0,
    network_efficiency_fraction=1.0,
)
EXCHANGE = {
    "rank_tokens": 4096.0,
    "hidden": 7168,
    "experts_per_token": 8,
    "ep": 64,
    "links": LINKS,
    "collective_latency_s": 0.0,
    "exposed_fraction": 1.0,
}
COPY_GB = 4096 * 7168 * 2 / 1e9  # one copy of every token


@pytest.mark.parametrize(
    ("experts", "each", "nodes", "exactly", "missed"),
    [(256, 8, 8, 5.2947, 0.01), (128, 8, 16, 6.5965, 0.025), (8, 2, 2, 1.5714, 0.05)],
)
def test_a_token_crosses_to_a_node_once(experts, each, nodes, exactly, missed):
    """Counted exactly: n less the nodes of which no expert is chosen, C(E - E/n, k)/C(E, k) each.

    The form draws each expert for itself, so it misses what cannot be chosen twice.
    """
    exact = nodes * (1 - comb(experts - experts // nodes, each) / comb(experts, each))
    got = token_copies(experts_per_token=each, holders=nodes)

    assert exact == pytest.approx(exactly, abs=1e-4)
    assert exact * (1 - missed) < got < exact


def test_a_large_fast_domain_keeps_the_exchange_off_the_network():
    """64 x (1 - (63/64)^8) = 7.57 copies in a domain of 72; 8 x (1 - (7/8)^8) = 5.25 nodes of eight.

    63/64 of the copies leave their accelerator, 7/8 of the nodes are other ones. The network is slower
    than what is passed on beside it, until it is as fast as the link.
    """
    on_link = 2 * COPY_GB * 64 * (1 - (63 / 64) ** 8) / 900
    large, fast = replace(LINKS, link_domain=72), replace(LINKS, network_gb_per_s=900.0)

    assert expert_exchange_s(**EXCHANGE | {"links": large}) == pytest.approx(on_link * 63 / 64, rel=1e-12)
    assert expert_exchange_s(**EXCHANGE) == pytest.approx(
        2 * COPY_GB * 8 * (1 - (7 / 8) ** 8) * 7 / 8 / 50, rel=1e-12
    )
    assert expert_exchange_s(**EXCHANGE | {"links": fast}) == pytest.approx(on_link * 7 / 8)
    assert expert_exchange_s(**EXCHANGE | {"ep": 1}) == 0


@pytest.mark.parametrize(
    ("ep", "limit", "link", "published", "tolerance"),
    [
        (8, 8, 160, (153, 158), 0.03),
        (16, 4, 160, (43, 43), 0.12),
        (32, 4, 160, (58, 57), 0.06),
        (64, 4, 160, (51, 50), 0.03),
        (16, 8, 450, (90, 81), 0.12),
        (32, 8, 450, (61, 61), 0.03),
        (16, 8, 900, (90, 91), 0.03),
    ],
)
def test_bandwidth_of_published_exchanges(ep, limit, link, published, tolerance):
    """DeepEP, dispatch and combine: 12 of 14 figures within 6 %, two nodes of H800 and one combine 12 %.

    H800 (first four, at most 4 nodes), H100 and B200, 50 GB/s of network. Its figure is the copies of a
    token to nodes, within one node to accelerators, over the time, and holds those that stay: so it passes
    the line rate. Set are 0.9 of the network (from the same figures) and eta_nv of the training fit, which
    knows no exchange of experts; that counting turns them into 43 to 158 GB/s is what is tested.
    """
    nodes = ep // 8
    seconds = expert_exchange_s(
        **EXCHANGE
        | {
            "ep": ep,
            "most_domains_per_token": limit,
            "links": replace(
                LINKS,
                link_gb_per_s=link,
                network_efficiency_fraction=0.9,
                link_efficiency_fraction=FITTED["link_efficiency_fraction"],
            ),
        }
    )
    copies = token_copies(experts_per_token=8, holders=min(nodes, limit) if nodes > 1 else ep)
    got = copies * COPY_GB / (seconds / 2)

    for figure in published:
        assert got == pytest.approx(figure, rel=tolerance)


@given(
    ep=st.sampled_from([2, 8, 16, 64, 256]),
    each=st.integers(1, 16),
    limit=st.integers(1, 32),
    network=st.floats(1.0, 2000.0),
)
def test_routing_within_fewer_nodes_never_sends_more(ep, each, limit, network):
    """Between one copy that goes nowhere and one for each expert over the slower link; less under a limit."""
    links = replace(LINKS, network_gb_per_s=network)
    one = EXCHANGE | {"ep": ep, "experts_per_token": each, "links": links}
    free, bound = (expert_exchange_s(**one | {"most_domains_per_token": m}) for m in (np.inf, limit))

    assert bound <= free * (1 + 1e-12)
    assert free <= 2 * each * COPY_GB / min(network, 900.0) * (1 + 1e-12)
    assert expert_exchange_s(**one | {"most_domains_per_token": 256}) == free


@given(
    name=st.sampled_from(["link_gb_per_s", "network_gb_per_s", "matrix_tflop_per_s", "memory_gb_per_s"]),
    factor=st.floats(1.01, 10),
    ep=st.sampled_from([1, 2, 4, 8]),
    imbalance=st.floats(1.0, 3.0),
)
def test_better_hardware_and_balance_are_never_slower(name, factor, ep, imbalance):
    base = hardware_arguments("H100-80GB-SXM")
    balanced, skewed = step(ep=ep), step(ep=ep, load_imbalance_factor=imbalance)
    faster = step(ep=ep, load_imbalance_factor=imbalance, **{name: factor * base[name]})

    assert faster.total_s <= skewed.total_s * (1 + 1e-12)
    assert balanced.total_s <= skewed.total_s * (1 + 1e-12)
    # Never above the peak: six operations for each weight that a token passes.
    active = 32 * (weights_of(MIXTRAL).common_parameters + weights_of(MIXTRAL).active_routed_parameters)
    assert 6 * active * 512 * 4096 / (balanced.total_s * 64) < 989e12


def test_all_experts_lie_in_memory_though_few_are_used():
    """Mixtral unsharded on 8 of 8: 18 bytes for 45.1 B / 8 routed weights, whatever k."""
    layout = {
        "accelerators": 64,
        "global_batch": 64,
        "micro_batch": 1,
        "tp": 1,
        "pp": 1,
        "interleave": 1,
        "cp": 1,
        "recompute": 0,
        "sharding": 0,
        "sequence_parallel": 1,
        "fused_attention": 1,
    }
    spread, single = (training_memory_parts(**memory_bundles({**MIXTRAL | layout, "ep": e})) for e in (8, 1))
    routed = 32 * 8 * 3 * 4096 * 14336

    assert spread.expert_weights_optimizer_gb == pytest.approx(18 * routed / 8 / 1e9, rel=1e-12)
    assert single.expert_weights_optimizer_gb == pytest.approx(18 * routed / 1e9, rel=1e-12)
    one = training_memory_parts(**memory_bundles({**MIXTRAL | layout | {"experts_per_token": 1}, "ep": 8}))
    assert one.expert_weights_optimizer_gb == spread.expert_weights_optimizer_gb
    assert one.activations_gb < spread.activations_gb


def test_the_search_spreads_experts():
    """235 B weights need 18 bytes each over 256 H100; e divides the experts and the stage, and fits."""
    columns = layout_candidates(
        **bundled(
            {
                "accelerators": 256,
                "global_batch": 2048,
                "layers": 94,
                "heads": 64,
                "kv_heads": 4,
                "sequence_tokens": 4096,
                "link_domain": 8,
                "experts": 128,
            },
            limits=SplitLimits,
        )
    )
    found = best_layout(
        **search_bundles(
            QWEN3_235B
            | {
                "accelerators": 256,
                "global_batch": 2048,
                "usable_fraction": 0.92,
                "memory_gb": HARDWARE["H100-80GB-SXM"]["memory_gb"],
            }
            | FITTED
            | MODERN
            | hardware_arguments("H100-80GB-SXM", "fp8")
        )
    )

    assert (128 % columns["ep"] == 0).all()
    assert ((256 / columns["pp"]) % columns["ep"] == 0).all()
    assert isinstance(found, Layout)
    assert found.ep > 1
    assert f"EP{found.ep}" in found.says()
    assert 0 < found.exposed_communication_fraction < 1
    assert found.memory_gb <= 0.92 * 80


def test_tokens_meet_in_experts():
    """8 accelerators, 4,096 tokens each, 2 of 8 experts: 8,192 tokens in each expert; none are lost."""
    each = expert_tokens(rank_tokens=4096, tp=1, experts=8, experts_per_token=2, ep=8)

    assert each == 8192
    assert each * 8 / 8 == 4096 * 2


def test_experts_are_multiplied_in_whole_tiles():
    """GPT-OSS is 2,880 wide: 12 tiles of 256 are 3,072 to a side, (3072/2880)^2 = 1.138 of the work.

    What is left of a layer is as before, and an expert of whole tiles (14,336 = 56 x 256) takes no longer.
    """
    narrow = {"hidden": 2880, "ffn": 2880, "heads": 36}
    matrix_s = {
        tile: step(**narrow, grouped_tile=tile).matrix_s - step(**narrow, experts_per_token=1).matrix_s
        for tile in (1, 256)
    }
    one = step(**narrow).matrix_s - step(**narrow, experts_per_token=1).matrix_s

    assert whole_tiles_ratio(side=2880.0, tile=256.0) ** 2 == pytest.approx(1.138, abs=1e-3)
    assert matrix_s[1] == one < matrix_s[256]
    assert step(grouped_tile=256).total_s == step().total_s


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experts_per_token": 9}, r"experts_per_token must lie between 1 and experts \(8\)"),
        ({"experts_per_token": 0}, "experts_per_token must lie between 1 and experts"),
        ({"ep": 64}, "experts are spread over at most the n/p accelerators"),
        ({"expert_exposed_fraction": 2.0}, "exposed_fraction is a share"),
    ],
)
def test_impossible_experts_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        step(**change)


def test_a_limit_below_one_domain_is_named():
    with pytest.raises(ValueError, match=r"holders of experts are 1 or more, got 0\.5"):
        expert_exchange_s(**EXCHANGE | {"most_domains_per_token": 0.5})
