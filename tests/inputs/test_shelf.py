"""The shelf: what a plan needs of every SKU, what is sold as one, and what is not sold yet."""

import csv
import statistics
from collections import defaultdict
from datetime import date

import numpy as np
import pytest

from planner.answers.calibration.reading import Workload
from planner.answers.calibration.steps import step_of
from planner.answers.check import notes_on
from planner.answers.throughput import Question, throughput_document
from planner.inputs.catalogue import COOLING, LINKS, UnknownFact
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.performance.adapters import adapter_parameters
from planner.physics.failures import failure_rate_by_node_group
from planner.physics.training_options import link_domain, training_arguments
from planner.program.assembly import assemble
from planner.validation.aliases import catalogue_name

CATALOGUE = load_catalogue()
CHIP = (
    *("bf16_peak", "memory", "memory_bandwidth", "matrix_efficiency", "embodied", "launch", "price"),
    *("link_bandwidth", "link_domain", "link_efficiency", "network_bandwidth"),
    *("tdp", "idle_power", "loaded_idle_power", "grouped_efficiency@bf16", "grouped_half_tokens@bf16"),
)
HOST = (
    *("accelerators", "host_power", "host_idle_power", "max_power", "rack_power", "rack_units"),
    *("embodied", "price", "cpu_memory"),
)
RACK = "gb200-nvl72"


def of_chip(sku, name):
    return CATALOGUE.fact(f"accelerator.{CATALOGUE.skus[sku].accelerator}.{name}").value


def offer(sku, **more):
    shipped = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")
    market = [{"sku": sku, "lead_time": "0 d", **more}]
    return with_changes(shipped, {"market": market, "training.train-8b.nodes": [18]})


@pytest.mark.parametrize("name", CATALOGUE.skus)
def test_every_sku_has_what_a_plan_needs(name):
    sku = CATALOGUE.skus[name]
    wanted = [f"accelerator.{sku.accelerator}.{part}" for part in CHIP]
    wanted += [f"server.{sku.server}.{part}" for part in HOST]

    assert [key for key in wanted if not CATALOGUE.has(key)] == []
    assert (sku.link in LINKS, sku.cooling in COOLING) == (True, True)
    assert CATALOGUE.link(sku.accelerator) == sku.link


@pytest.mark.parametrize("name", CATALOGUE.skus)
def test_each_precision_has_its_efficiency(name):
    """16-bit efficiency does not hold for FP8 and FP4: kernels lag the faster units."""
    chip = f"accelerator.{CATALOGUE.skus[name].accelerator}"
    for precision in ("fp8", "fp4"):
        if CATALOGUE.has(f"{chip}.{precision}_peak"):
            for part in ("matrix_efficiency", "grouped_efficiency", "grouped_half_tokens"):
                assert CATALOGUE.has(f"{chip}.{part}@{precision}"), (part, precision)


@pytest.mark.parametrize("name", CATALOGUE.skus)
def test_a_node_can_feed_its_chips_and_idles_below_work(name):
    """The rating holds every chip at its own and the host; idle is below loaded idle, below the rating."""
    server = f"server.{CATALOGUE.skus[name].server}"
    each = CATALOGUE.fact(f"{server}.accelerators").value
    busy = each * of_chip(name, "tdp") + CATALOGUE.fact(f"{server}.host_power").value
    idle, loaded, tdp = (of_chip(name, part) for part in ("idle_power", "loaded_idle_power", "tdp"))

    assert busy <= 1.02 * (
        CATALOGUE.fact(f"{server}.max_power").high or CATALOGUE.fact(f"{server}.max_power").value
    )
    assert idle <= loaded < tdp
    assert CATALOGUE.fact(f"{server}.host_idle_power").value <= CATALOGUE.fact(f"{server}.host_power").value


@pytest.mark.slow
def test_at_least_24_kinds_can_be_bought_and_announced_ones_by_name_alone():
    assert len(CATALOGUE.sold) >= 24
    assert {"vr-nvl72", "mi455x-72", "trn3-64"} == CATALOGUE.skus.keys() - set(CATALOGUE.sold)
    document = throughput_document(Question("llama-3.1-8b", nodes=(16,)))
    assert {row["sku"] for row in document["rows"]} == set(CATALOGUE.sold)
    named = throughput_document(Question("llama-3.1-8b", nodes=(16,), skus=("vr-nvl72",)))
    assert [row["sku"] for row in named["rows"]] == ["vr-nvl72"]


def test_every_kind_that_is_sold_can_be_bought():
    """One plan with an offer of each: orders are allowed, in whole racks or slices."""
    market = [{"sku": name, "lead_time": "0 d"} for name in CATALOGUE.sold]
    scenario = with_changes(offer("h100-8"), {"market": market, "training.train-8b.nodes": [16]})
    check_scenario(scenario, CATALOGUE)
    inputs = Inputs(scenario, CATALOGUE)
    groups = assemble(inputs).problem.node_groups

    names = [inputs.skus[k].name for k in inputs.node_group_sku]
    assert {name for name, row in zip(names, groups.purchase_allowed, strict=True) if row.all()} == set(names)
    assert len(set(names)) == len(CATALOGUE.sold) >= 24
    units = dict(zip(names, groups.order_unit_nodes, strict=True))
    assert units == {name: CATALOGUE.skus[name].buying_unit for name in names}


def test_an_offer_of_an_announced_part_is_told():
    scenario = offer("vr-nvl72")
    check_scenario(scenario, CATALOGUE)

    assert any("vr-nvl72 is announced, not sold yet" in note for note in notes_on(scenario))
    assert not any("announced" in note for note in notes_on(offer("h100-8")))


def test_racks_are_bought_whole_and_trays_fail():
    """NVL72: 72 GPUs are one order of 18 nodes, and one node holds 4, of one domain of 72."""
    inputs = Inputs(offer(RACK), CATALOGUE)
    program = assemble(inputs)

    assert inputs.server("accelerators")[0].value == 4
    assert program.problem.node_groups.order_unit_nodes.tolist() == [18]
    assert link_domain(inputs, 0).value == 72
    assert failure_rate_by_node_group(inputs).value == pytest.approx(inputs.failure_rate().value * 4 / 8)
    price = CATALOGUE.fact("server.gb200-nvl72-tray.price").value
    assert 18 * price == pytest.approx(3.25e6, rel=1e-4)
    assert any("sold 18 nodes at a time" in note for note in notes_on(inputs.scenario))


def test_a_part_of_a_rack_is_refused():
    check_scenario(offer(RACK, order_nodes=36), CATALOGUE)
    assert (
        Inputs(offer(RACK, order_nodes=36), CATALOGUE).order_nodes(offer(RACK, order_nodes=36).market[0])
        == 36
    )
    with pytest.raises(ScenarioError, match=r"order_nodes: 8 nodes are no whole rack or slice.*Write 18"):
        check_scenario(offer(RACK, order_nodes=8), CATALOGUE)


def test_trays_are_bought_alone_for_the_shelf():
    """They cost and emit as the others and stand nowhere; nothing runs on them."""
    inputs = Inputs(offer(RACK, single_spares=[4, 0], order_nodes=36), CATALOGUE)
    program = assemble(inputs).problem
    groups = program.node_groups

    assert [sku.name for sku in inputs.skus] == [RACK, f"{RACK} spare"]
    assert groups.spares_for.tolist() == [-1, 0]
    assert groups.order_unit_nodes.tolist() == [36, 1]
    assert program.limits.supply_nodes[1].tolist() == [4.0, 0.0]
    assert np.ptp(groups.capex_usd_per_node, axis=0).max() == 0
    assert np.ptp(groups.holding_kgco2e_per_node, axis=0).max() == 0
    for column in (groups.racks_per_node, groups.idle_kw, groups.space_kw, groups.idle_kwh_per_node):
        assert np.all(column[0] > 0)
        assert np.all(column[1] == 0)
    assert set(program.run_options.node_group.tolist()) <= {0}
    assert set(program.spare_steps.node_group.tolist()) == {0}


def test_a_tray_that_lies_on_the_shelf_already_stands_in_the_fleet():
    stands = {"sku": f"{RACK} spare", "site": "stockholm", "nodes": 1, "in_service": date(2026, 6, 1)}
    scenario = with_changes(offer(RACK), {"fleet": [stands]})
    check_scenario(scenario, CATALOGUE)
    inputs = Inputs(scenario, CATALOGUE)

    assert [inputs.skus[k].name for k in inputs.node_group_sku] == [f"{RACK} spare", RACK]
    assert inputs.spares_for.tolist() == [1, -1]
    with pytest.raises(ScenarioError, match=r"no SKU 'h100 spare'"):
        check_scenario(with_changes(offer(RACK), {"fleet": [stands | {"sku": "h100 spare"}]}), CATALOGUE)


def test_what_is_ordered_one_at_a_time_has_no_single_spares():
    check_scenario(offer("h100-8", order_nodes=4, single_spares=2), CATALOGUE)
    with pytest.raises(ScenarioError, match=r"single_spares: its nodes are ordered one at a time already"):
        check_scenario(offer("h100-8", single_spares=2), CATALOGUE)


@pytest.mark.parametrize(
    ("name", "chips"), [("tpu-v5e-8", 8), ("tpu-v5e-256", 256), ("tpu-v5p-64", 64), ("tpu-v7-64", 64)]
)
def test_tpus_are_joined_by_slice(name, chips):
    """Links join the chips of a slice: hosts of two slices talk over the network."""
    sku, inputs = CATALOGUE.skus[name], Inputs(offer(name), CATALOGUE)

    assert sku.buying_unit * inputs.server("accelerators")[0].value == chips
    assert link_domain(inputs, 0).value == chips
    assert training_arguments(inputs, "llama-3.1-8b", 0, "bf16")["link_domain"].value == chips


@pytest.mark.parametrize(("chip", "model"), [("tpu-v6e", 0.901), ("tpu-v7", 0.829)])
def test_tpu_efficiencies_are_those_of_kernels(chip, model):
    """827 of 918 and 956 of 1,153.5 TFLOP/s on the device; the 0.44 of whole steps would count twice."""
    fact = CATALOGUE.fact(f"accelerator.{chip}.matrix_efficiency")
    assert fact.value == pytest.approx(model, abs=0.005)


def test_efficiencies_follow_the_measured_tables():
    """Medians of the tables of August 2026: FP8 is below 16 bits, NVFP4 below FP8; PCIe below NVLink."""
    for sku in ("b200-8", "b300-8", "gb200-nvl72", "gb300-nvl72", "rtx-pro-6000-8"):
        sixteen, eight, four = (of_chip(sku, f"matrix_efficiency{at}") for at in ("", "@fp8", "@fp4"))
        assert four < eight < sixteen, sku
    assert of_chip("rtx-pro-6000-8", "link_efficiency") < 0.5 < of_chip("b200-8", "link_efficiency")


def test_a_replica_may_span_trays_of_a_rack_and_processors_do_not_train():
    """405B at 16 bits is 810 GB: no tray of 4 x 186 GB holds it, two do."""
    question = Question("llama-3.1-405b", serve=True, skus=(RACK,), requests_per_s=1.0)
    fits = {row["accelerators"]: row["fits"] for row in throughput_document(question)["rows"]}
    assert (fits[4], fits[8]) == (False, True)
    row = throughput_document(Question("llama-3.1-8b", nodes=(1,), skus=("xeon-6980p-2",)))["rows"][0]
    assert (row["fits"], "scores and serves" in row["reason"]) == (False, True)


def test_embodied_carbon_counts_host_and_building_once():
    """The study of TPUs gives a chip with its share of the host: their server adds nothing."""
    for name, sku in CATALOGUE.skus.items():
        board = CATALOGUE.fact(f"accelerator.{sku.accelerator}.embodied")
        host = CATALOGUE.fact(f"server.{sku.server}.embodied")
        assert "building" not in board.boundary["embodied"], name
        assert (host.value == 0) == (board.boundary["embodied"] == "chip-host"), name


MEASURED = {
    **{"A100 SXM": "a100-80-8", "H100 SXM": "h100-8", "H200": "h200-8", "B200": "b200-8", "B300": "b300-8"},
    **{
        "GB200": "gb200-nvl72",
        "GB300": "gb300-nvl72",
        "L40S": "l40s-8",
        "RTX PRO 6000 Server": "rtx-pro-6000-8",
    },
}
FORMATS = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4"}


def kernel_rows(shared, operation):
    with (shared / "data" / "kernel_efficiency" / "kernel_efficiency.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["operation"] == operation and row["precision"] in FORMATS:
                yield MEASURED[row["chip"]], FORMATS[row["precision"]], row


def test_dense_efficiencies_are_medians_of_the_measured_tables(shared):
    """Matrices of 4,096 rows and more; 16 bits of four chips is fitted on training runs instead."""
    found = defaultdict(list)
    for sku, precision, row in kernel_rows(shared, "gemm"):
        if int(row["condition"].removeprefix("m=").partition(",")[0]) >= 4096:
            found[sku, precision].append(float(row["median"]))
    assert len(found) == 22
    for (sku, precision), medians in found.items():
        key = "matrix_efficiency" if precision == "bf16" else f"matrix_efficiency@{precision}"
        fact = CATALOGUE.fact(f"accelerator.{CATALOGUE.skus[sku].accelerator}.{key}")
        if fact.source.name == "nvidia-aiconfigurator-2026":
            assert fact.value == pytest.approx(statistics.median(medians), abs=6e-4), (sku, precision)
        else:
            assert (precision, fact.source.name) == ("bf16", "everfleet-training-fit")


@pytest.mark.parametrize("sku", MEASURED.values())
def test_matrices_of_experts_follow_the_shipped_curve(shared, sku):
    """Plateau t / (t + half) lies among the measured models; below 64 tokens an expert memory decides."""
    found = defaultdict(list)
    for name, precision, row in kernel_rows(shared, "moe grouped gemm"):
        tokens, routing = row["condition"].split(", ")[-2:]
        if name == sku and routing == "balanced" and float(tokens.split()[0]) >= 64:
            found[precision, float(tokens.split()[0])].append(float(row["median"]))
    assert len(found) >= 4
    for (precision, tokens), measured in found.items():
        plateau, half = (
            of_chip(sku, f"grouped_{part}@{precision}") for part in ("efficiency", "half_tokens")
        )
        ours = plateau * tokens / (tokens + half)
        assert 0.5 * min(measured) < ours < 1.3 * max(measured), (precision, tokens)


def test_a_link_of_an_unknown_chip_is_refused():
    with pytest.raises(UnknownFact, match="no node with accelerator 'abacus'"):
        CATALOGUE.link("abacus")


CARDS = {"gemma-7b": 256, "mistral-nemo-12b": 128, "qwen3-0.6b": 128, "gpt-oss-120b": 64, "gemma-2-9b": 256}


@pytest.mark.parametrize(("model", "wide"), CARDS.items())
def test_head_sizes_are_those_of_the_card(model, wide):
    """They are not width over heads: gemma-7b has 16 heads of 256 in 3,072."""
    shape = {part: CATALOGUE.fact(f"model.{model}.{part}").value for part in ("hidden", "heads", "head_dim")}
    inputs = Inputs(offer("h100-8"), CATALOGUE)

    assert shape["head_dim"] == wide != shape["hidden"] / shape["heads"]
    assert training_arguments(inputs, model, 0, "bf16")["head_dim"].value == wide


def test_head_sizes_reach_measured_steps_and_adapters():
    """A calibrated step of gemma-7b attends 4,096 wide, and its adapters map 3,072 to 4,096 and back."""
    workload = Workload(CATALOGUE.skus["h100-8"], "gemma-7b", "bf16", 8, 8, 8192, None)
    narrow = adapter_parameters(rank=16, hidden=3072, heads=16, kv_heads=16)

    assert step_of(CATALOGUE, workload).arguments["head_dim"] == 256
    assert narrow == 16 * 8 * 3072
    assert adapter_parameters(rank=16, hidden=3072, heads=16, kv_heads=16, head_dim=256) == 16 * 4 * (
        3072 + 4096
    )


NAMES = {
    "model": (
        *("deepseek-r1", "gpt-oss-120b", "gptj", "llama2-70b", "llama3.1-405b", "llama3.1-8b"),
        "mixtral-8x7b",
    ),
    "diffusion": ("stable-diffusion-xl", "FLUX.1", "Stable Diffusion v2", "SD 3.5 Large", "Wan2.1-14B"),
    "recommendation": ("dlrm-v2", "DLRM-dcnv2 (MLPerf)"),
    "speech": ("whisper",),
    "accelerator": (
        *(
            "B200-SXM",
            "B300-SXM",
            "GB200-NVL72",
            "GB300-NVL72",
            "GH200 96GB",
            "GH200-144GB",
            "H100-80GB-PCIe",
        ),
        *("H100-80GB-SXM", "H100-94GB-NVL", "H200-141GB-NVL", "H200-141GB-SXM", "L4", "L40S", "MI300X"),
        *("MI325X", "MI350X", "MI355X", "RTX PRO 6000", "TPU v5e", "TPU v6e", "Xeon 6787P", "Xeon 6980P"),
        "H100 96GB HBM2e 500W (Grand Teton)",
    ),
}


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in NAMES.items() for name in names])
def test_names_of_published_rows_are_known(room, name):
    assert catalogue_name(room, name) in CATALOGUE.names(room)


@pytest.mark.parametrize("name", ["Qwen3-235B-A22B", "Qwen3-30B-A3B", "DeepSeek-V3", "GPT-OSS 120B"])
def test_mixtures_of_published_runs_are_known(name):
    model = catalogue_name("model", name)
    assert CATALOGUE.fact(f"model.{model}.experts").value >= 128


@pytest.mark.parametrize("card", ["h100-pcie-80gb", "h100-nvl-94gb", "h200-nvl-141gb"])
@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_cards_lose_as_much_by_their_power_in_training_as_in_serving(card, precision):
    """Images of SDXL on cards of 350 and 400 W were 16 and 18 % too fast by the rates of a board."""
    board = "h200-sxm-141gb" if card.startswith("h200") else "h100-sxm-80gb"

    def rate(chip, share):
        return CATALOGUE.fact(f"accelerator.{chip}.{precision}_peak").value * CATALOGUE.fact(share).value

    own = "" if precision == "bf16" else "@fp8"
    trained = [rate(chip, f"accelerator.{chip}.matrix_efficiency{own}") for chip in (card, board)]
    served = [rate(chip, f"kernel.{chip}.matrix_share@{precision}") for chip in (card, board)]
    assert trained[0] / trained[1] == pytest.approx(served[0] / served[1], rel=0.01)
