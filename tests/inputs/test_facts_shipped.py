"""The shipped facts hold together by plain reading, and agree with what they were taken from."""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
HEADER = ["key", "value", "unit", "source", "locator", "kind", "low", "high", "boundary", "note"]
KINDS = {"measured", "published", "declared", "estimated", "assumed"}
# Room, a name that may hold dots, a property in snake or kebab case; an alternative has no dot after its '@'.
KEY = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9._-]*)*(@[a-z0-9-]+)?")
BOUNDARIES = {"embodied", "grid", "failures"}


def read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


ROWS = [row for path in sorted((DATA / "facts").glob("*.csv")) for row in read(path)]
FACTS = {row["key"]: row for row in ROWS}


def value(key: str) -> float:
    return float(FACTS[key]["value"])


def names(room: str, last: str) -> list[str]:
    matches = (re.fullmatch(rf"{room}\.(.+)\.{last}", key) for key in FACTS)
    return [match[1] for match in matches if match]


# ---- the rows themselves


@pytest.mark.parametrize("path", sorted((DATA / "facts").glob("*.csv")), ids=lambda path: path.name)
def test_files_have_the_header_and_unix_lines(path):
    text = path.read_bytes()
    assert text.decode("utf-8").split("\n")[0].split(",") == HEADER
    assert b"\r" not in text
    assert text.endswith(b"\n")


def test_keys_are_well_formed_and_stand_once():
    keys = [row["key"] for row in ROWS]
    assert [key for key in keys if not KEY.fullmatch(key)] == []
    assert len(keys) == len(set(keys))


BY_PRECISION = re.compile(
    r"accelerator\..+\.grouped_(efficiency|half_tokens)@(bf16|fp8|fp4)"
    r"|kernel\..+\.\w+@(bf16|fp8|fp8-tensor|fp4|w4a16|w4a8)(-((vllm|tensorrt-llm)(-202[45])?|sglang|mlperf))?"
)
BY_SIZE = re.compile(
    r"kernel\..+\.ring_(latency|share)@[248](-pcie)?|performance\.serving\.rate_(error|points)@.+"
)
BY_ROUND = re.compile(  # in the others, none did so
    r"performance\.engine\.mlperf\.apart_domain@v\d-\d|benchmark\..+\.(age|ring)_factor@v\d-\d"
)


def test_an_alternative_stands_beside_its_preferred_value():
    """What is known by precision and engine, size of a group or round alone has no preferred one."""
    alone = [key for key in FACTS if "@" in key and key.split("@")[0] not in FACTS]
    patterns = (BY_PRECISION, BY_SIZE, BY_ROUND)
    assert [key for key in alone if not any(pattern.fullmatch(key) for pattern in patterns)] == []


def test_kinds_ranges_and_boundaries():
    faults = []
    for row in ROWS:
        number, low, high = (float(row[c]) if row[c] else None for c in ("value", "low", "high"))
        if row["kind"] not in KINDS or number is None or not math.isfinite(number):
            faults.append(f"{row['key']}: kind or value")
        elif (low is not None and low > number) or (high is not None and high < number):
            faults.append(f"{row['key']}: {low} .. {high} does not hold {number}")
        elif row["kind"] in ("estimated", "assumed") and (low is None or high is None):
            faults.append(f"{row['key']}: {row['kind']} without a range")
        elif row["kind"] == "assumed" and not row["note"]:
            faults.append(f"{row['key']}: assumed without a reason")
        elif row["boundary"] and row["boundary"].split("=")[0] not in BOUNDARIES:
            faults.append(f"{row['key']}: boundary {row['boundary']}")
    assert faults == []


def test_every_source_is_described_and_cited():
    with (DATA / "sources.toml").open("rb") as file:
        sources = tomllib.load(file)
    cited = {row["source"] for row in ROWS}
    assert cited == sources.keys()
    for name, source in sources.items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert {"title", "authors", "year", "licence"} <= source.keys(), name
        assert source.keys() & {"url", "doi", "arxiv"}, name


def test_assumptions_and_only_they_cite_the_list_of_assumptions():
    wrong = [r["key"] for r in ROWS if r["source"] == "everfleet-assumptions" and r["kind"] != "assumed"]
    assert wrong == []


def test_what_a_node_must_have_is_there_for_every_sku():
    with (DATA / "skus.toml").open("rb") as file:
        skus = tomllib.load(file)
    board = (
        "bf16_peak memory memory_bandwidth link_bandwidth link_domain network_bandwidth tdp idle_power "
        "matrix_efficiency embodied launch"
    )
    host = "accelerators host_power host_idle_power max_power embodied price rack_units cpu_memory"
    wanted = {f"accelerator.{sku['accelerator']}.{p}" for sku in skus.values() for p in board.split()}
    wanted |= {f"server.{sku['server']}.{p}" for sku in skus.values() for p in host.split()}
    assert sorted(wanted - FACTS.keys()) == []
    assert len(skus) >= 8


# ---- against each other


def test_eight_boards_make_the_published_hgx_h100_footprint():
    """NVIDIA's summary: 1,312 kgCO2e for a baseboard of eight."""
    assert 8 * value("accelerator.h100-sxm-80gb.embodied") == pytest.approx(1312, rel=1e-6)


GDDR = {"l4", "l40s", "t4", "a10g", "rtx-pro-6000", "rtx-pro-4500", "arc-pro-b50", "arc-pro-b60"}


def test_boards_without_a_footprint_follow_the_engine():
    """The rows were computed elsewhere; coefficients, dies and processes stand as facts beside them."""
    engine = {key.rpartition(".")[2]: value(key) for key in FACTS if key.startswith("embodied.engine.")}
    checked = []
    for name in names("accelerator", "embodied"):
        row = FACTS[f"accelerator.{name}.embodied"]
        if not row["locator"].startswith("component engine"):
            continue
        fact = {p: value(f"accelerator.{name}.{p}") for p in ("die_area", "memory", "tdp", "process_node")}
        die = fact["die_area"] * value(f"die.n{fact['process_node']:.0f}.carbon_per_area") / 1000
        if f"accelerator.{name}.base_die_area" in FACTS:  # dies of a second process under the first
            base = value(f"accelerator.{name}.base_process_node")
            area = value(f"accelerator.{name}.base_die_area")
            die += area * value(f"die.n{base:.0f}.carbon_per_area") / 1000
        memory = engine["memory_gddr" if name in GDDR else "memory_hbm"] * fact["memory"]
        parts = die + engine["integrated_circuit_residual"] + memory + engine["thermal"] * fact["tdp"] / 1000
        ours = engine["assembly_ratio"] * (parts + engine["electromechanical"])
        assert ours == pytest.approx(float(row["value"]), rel=2e-3), name
        checked.append(name)
    assert len(checked) >= 25
    assert {"mi300x", "mi325x", "mi350x", "mi355x"} <= set(checked)


def test_die_carbon_follows_acts_equation():
    """CPA = (CI EPA + GPA + MPA) / Y with 583 g/kWh, 97 % abatement, yield 0.875: 1,557 g at 14 nm."""
    for node in (28, 20, 14, 10, 8, 7, 5, 3):
        fact = {p: value(f"die.n{node}.{p}") for p in ("fab_energy", "gas_95", "gas_99", "materials")}
        gas = (fact["gas_95"] + fact["gas_99"]) / 2
        ours = (value("fab.taiwan.intensity") * fact["fab_energy"] + gas + fact["materials"]) / value(
            "fab.yield"
        )
        assert ours == pytest.approx(value(f"die.n{node}.carbon_per_area"), abs=0.06)
    assert value("die.n14.carbon_per_area") == pytest.approx(1557, abs=0.5)


EIGHT_BITS_FIRST = {"rubin", "trainium3"}  # units that their makers widened for 8 bits and less alone


def test_peaks_are_dense():
    """8-bit peaks are at most twice the 16-bit ones (L40S prints 2.025); sparse ones would be four times.

    4-bit ones are at most twice those again, Blackwell Ultra's three times: 15 of 5 PFLOP/s.
    """
    for name in names("accelerator", "fp8_peak"):
        if name not in EIGHT_BITS_FIRST:
            sixteen, eight = (value(f"accelerator.{name}.{p}_peak") for p in ("bf16", "fp8"))
            assert eight <= 2.03 * sixteen, name
    for name in names("accelerator", "fp4_peak"):
        most = 3.0 if "b300" in name else 2.001
        assert value(f"accelerator.{name}.fp4_peak") <= most * value(f"accelerator.{name}.fp8_peak"), name
    for name, dense in {"a100-sxm-80gb": 312, "h100-sxm-80gb": 989, "mi300x": 1307, "l40s": 362}.items():
        assert value(f"accelerator.{name}.bf16_peak") == dense


@pytest.mark.parametrize("name", names("model", "parameters"))
def test_model_parameters_follow_from_the_shape(name):
    """Attention, feed-forward and embeddings alone give the published count within 2 %, active ones too."""
    of = {k.rpartition(".")[2]: value(k) for k in FACTS if k.startswith(f"model.{name}.")}
    queries, keys = of["heads"] * of["head_dim"], of["kv_heads"] * of["head_dim"]
    attention = 2 * of["hidden"] * (queries + keys)
    if "latent_rank" in of:  # keys and values, and queries, pass through narrow layers
        rotary, values = of["heads"] * of["rotary_dim"], of["heads"] * of["value_dim"]
        attention = of["query_rank"] * (of["hidden"] + queries + rotary) + values * of["hidden"]
        attention += of["hidden"] * (of["latent_rank"] + of["rotary_dim"])
        attention += of["latent_rank"] * (queries + values)
    if "state_layers" in of:  # others keep a state: inputs, gates, maps and step sizes, and what leads back
        maps = 2 * of["state_groups"] * of["state_size"] + of["state_heads"]
        keeping = of["hidden"] * (3 * of["state_inner"] + maps)
        attending = of.get("attending_layers", of["layers"] - of["state_layers"])
        attention = (attending * attention + of["state_layers"] * keeping) / of["layers"]
    matrices = (3 if of["gated"] else 2) * of["hidden"]
    expert, dense = matrices * of["ffn"], of.get("dense_layers", 0)
    embeddings = of["vocab"] * of["hidden"] * (1 if of["tied_embeddings"] else 2)
    common = of["layers"] * attention + dense * matrices * of.get("dense_ffn", 0) + embeddings
    router, shared = of["hidden"] * of["experts"], of.get("shared_experts", 0)
    narrow = of.get("expert_hidden", of["hidden"]) / of["hidden"]  # of tokens in latent experts
    router += 2 * of["hidden"] ** 2 * narrow * (narrow < 1)
    whole, active = (
        common + (of["layers"] - dense) * (router + expert * (narrow * max(of[experts], 1) + shared))
        for experts in ("experts", "experts_per_token")
    )
    assert whole == pytest.approx(of["parameters"], rel=0.02)
    assert active == pytest.approx(of["active_parameters"], rel=0.02)


def test_llama_3_causes_add_up_and_give_its_rate():
    """Table 5: 419 unexpected interruptions in 54 days on 2,048 nodes of 8, i.e. 3.79 per 1,000 node-days."""
    counts = [value(k) for k in FACTS if k.startswith("reliability.llama3-cause-")]
    assert (len(counts), sum(counts)) == (18, 419)
    rate = 1000 * 419 / (2048 * 54)
    assert rate == pytest.approx(value("reliability.meta-llama-3-405b.failure_rate"), abs=0.005)


@pytest.mark.parametrize(
    ("fleet", "per_1000_node_days"),
    [
        ("delta-a100-ecc", 1000 * 24 * 4 / 283271),
        ("delta-h100-ecc", 1000 * 24 * 4 / 88768),
        ("stepfun-infinitehbd-all", 1000 * 584 / (400 * 348)),
        ("stepfun-infinitehbd-hardware", 1000 * 298 / (400 * 348)),
        ("coreweave-1024", 1000 * 8 / 3748.25),
        ("ant-group", 1000 * 8 * 0.0027),
        ("imbue-70b", 1000 * 0.03 / 7),
        ("titan-k20x-old", 1000 * 5027 / (75745.5 * 365.25)),
        ("titan-k20x-reworked", 1000 * 62 / (25144 * 365.25)),
        ("meta-opt-175b", 1000 * 105 / (124 * 61)),
        ("lablup-skt-b200", 1000 * 10 / (63 * 55)),
        ("crusoe-h200", 1000 * 205 / (200 * 120)),
    ],
)
def test_derived_failure_rates(fleet, per_1000_node_days):
    """Each from the counts or intervals that its publication prints."""
    assert per_1000_node_days == pytest.approx(value(f"reliability.{fleet}.failure_rate"), rel=0.01)


def test_the_prior_is_the_median_of_the_fleets_and_its_range_is_5_to_95_percent():
    """One machine class and all causes: not Titan, not one error type."""
    other = ("titan", "delta", "prior")
    fleets = [n for n in names("reliability", "failure_rate") if not n.startswith(other)]
    rates = [value(f"reliability.{n}.failure_rate") for n in fleets]
    prior, sigma = FACTS["reliability.prior.failure_rate"], value("reliability.prior.sigma")
    assert statistics.median(rates) == pytest.approx(float(prior["value"]), rel=0.02)
    assert statistics.stdev(map(math.log, rates)) == pytest.approx(sigma, abs=0.1)
    quantile = statistics.NormalDist().inv_cdf(0.95)
    for end, sign in (("low", -1), ("high", 1)):
        assert float(prior[end]) == pytest.approx(
            float(prior["value"]) * math.exp(sign * quantile * sigma), rel=0.005
        )


def test_checkpoint_anchors():
    """MT-NLG's 42 min at 20 Gbit/s implies 12 bytes a parameter; 18 GB in 151 s is the NAS rate."""
    size_gb = 530 * value("checkpoint.bytes_per_parameter@minimum")
    seconds = size_gb / value("checkpoint_storage.nas.bandwidth")
    assert seconds == pytest.approx(value("checkpoint.mt-nlg-530b-remote.blocking_time"), rel=1e-3)
    assert value("checkpoint_storage.nas.bandwidth_per_node") == pytest.approx(18 / 151, abs=5e-4)
    background, plain = (value(f"checkpoint.pytorch-7b-{way}.blocking_time") for way in ("async", "sync"))
    assert background / plain == pytest.approx(
        value("checkpoint_storage.parallel-fs.blocking_fraction"), abs=5e-5
    )


def test_grids_by_family():
    """Boundaries follow the name; a Namibian row shows that 'na' was not read as missing."""
    tags = {"us-": "direct/production", "gcp-": "direct/consumption", "": "life-cycle/production"}
    found = names("grid", "intensity")
    for name in found:
        family = next(prefix for prefix in tags if name.startswith(prefix))
        assert FACTS[f"grid.{name}.intensity"]["boundary"] == f"grid=average/{tags[family]}", name
    assert {"na", "us", "us-camx", "us-srvc", "se", "gcp-us-south1"} <= set(found)
    assert len(found) >= 45
    for name in names("grid", "marginal"):
        assert value(f"grid.{name}.marginal") > value(f"grid.{name}.intensity"), (
            "fossil plants sit at the margin"
        )


# ---- samples and published rows


@pytest.mark.parametrize("trace", ["conv", "code"])
def test_samples_keep_totals_and_means(trace):
    """The bins are means of their own requests, so nothing is lost but the spread within a bin."""
    rows = list(read(DATA / "samples" / f"azure-2023-{trace}.csv"))
    requests = [int(row["requests"]) for row in rows]
    assert len(rows) <= 300
    assert sum(requests) == value(f"traffic.azure-2023-{trace}.requests")
    for column, fact in (("context_tokens", "mean_context"), ("generated_tokens", "mean_generated")):
        mean = sum(float(row[column]) * n for row, n in zip(rows, requests, strict=True)) / sum(requests)
        assert mean == pytest.approx(value(f"traffic.azure-2023-{trace}.{fact}"), abs=1e-4)
    arrivals = sum(
        int(row[f"{trace}_requests"]) for row in read(DATA / "samples" / "azure-2023-arrivals.csv")
    )
    assert arrivals == sum(requests)
    rate = sum(requests) / value(f"traffic.azure-2023-{trace}.duration")
    assert rate == pytest.approx(value(f"traffic.azure-2023-{trace}.rate"), abs=1e-4)


def test_published_rows_can_be_read():
    ids = []
    for path in sorted((DATA / "published").glob("*.csv")):
        for row in read(path):
            ids.append(row["id"])
            assert list(row) == ["id", "source", "inputs", "expected", "unit", "tolerance", "note"]
            inputs = json.loads(row["inputs"])
            assert inputs.keys() & {"quantity", "kind"}
            assert math.isfinite(float(row["expected"]))
            assert row["source"]
    assert len(ids) == len(set(ids)) >= 100


# ---- against what they were taken from (`shared` skips where it does not lie beside the checkout)


def test_published_rows_are_unchanged(shared):
    """What is asked, what is expected and how far off it may be is the publication's.

    The mixes of GPUs are cases there and no rows: test_melange.py compares them. Rows of public logs and of
    public figures stand in no other file.
    """
    ours = {DATA / "published" / name for name in ("program.csv", "public_logs.csv", "public_figures.csv")}
    for path in sorted(set((DATA / "published").glob("*.csv")) - ours):
        original = {row["id"]: row for row in read(shared / "validation" / path.name)}
        for row in read(path):
            there = original[row["id"]]
            assert {k: row[k] for k in ("inputs", "expected", "unit", "tolerance")} == {
                k: there[k] for k in ("inputs", "expected", "unit", "tolerance")
            }, row["id"]


def test_us_subregions_match_egrid(shared):
    for row in read(shared / "data" / "grid_egrid2023" / "egrid2023_subregions.csv"):
        name = "us-average" if row["subregion"] == "US" else "us-" + row["subregion"].lower()
        pounds = float(row["co2e_total_output_rev2_lb_per_mwh"])
        assert value(f"grid.{name}.intensity") == pytest.approx(pounds * 0.45359237, abs=1e-3)
        assert value(f"grid.{name}.marginal") == float(row["nonbaseload_co2e_rev1_g_per_kwh_ar5"])


def test_cloud_regions_match_google(shared):
    for row in read(shared / "data" / "grid_cloud_regions_google" / "2024.csv"):
        name = f"grid.gcp-{row['Google Cloud Region']}"
        assert value(f"{name}.intensity") == float(row["Grid carbon intensity (gCO2eq / kWh)"])
        assert value(f"{name}.carbon_free_energy") == float(row["Google CFE"])


def test_countries_match_ember(shared):
    """The country stands in the note, the year is 2024."""
    column = "Carbon intensity of electricity per kWh"
    path = shared / "data" / "grid_yearly_owid_ember" / "carbon-intensity-electricity.csv"
    table = {row["Entity"]: float(row[column]) for row in read(path) if row["Year"] == "2024"}
    checked = 0
    for key, row in FACTS.items():
        if row["source"] == "owid-2026-carbon-intensity":
            assert value(key) == table[row["note"].split(";")[0]], key
            checked += 1
    assert checked >= 25


def test_act_tables_match_its_files(shared):
    files = {"fab_energy": "epa", "gas_95": "gpa_95", "gas_99": "gpa_99", "materials": "materials"}
    for prop, file in files.items():
        text = (shared / "data" / "factors_act" / "models" / f"logic__{file}.yaml").read_text(
            encoding="utf-8"
        )
        table = {int(node): float(number) for node, number in re.findall(r'"(\d+)nm" *: *([\d.]+)', text)}
        assert len(table) == 8
        assert {node: value(f"die.n{node}.{prop}") for node in table} == table


def test_causes_match_the_printed_table(shared):
    table = shared / "data" / "reliability_priors" / "llama3_interruptions.csv"
    counts = sorted(int(row["count"]) for row in read(table))
    assert counts == sorted(value(k) for k in FACTS if k.startswith("reliability.llama3-cause-"))


@pytest.mark.parametrize("state", ["idle_power", "loaded_idle_power"])
def test_no_chip_idles_above_its_limit_wherever_its_facts_lie(state):
    """Each is drawn by itself: TPU v4 could idle at 198 W of at most 192, and its range was a traceback."""
    for key, row in FACTS.items():
        if not key.startswith("accelerator.") or not key.endswith(f".{state}"):
            continue
        limit = FACTS[key.replace(f".{state}", ".tdp")]
        assert float(row["high"] or row["value"]) < float(limit["low"] or limit["value"]), key
