"""Measurements of one's own: read, carried to other sizes, written as facts; and the probe of a device."""

from __future__ import annotations

import csv
import itertools
import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from performance_constants import FITTED, hardware_arguments, shape_arguments, stack_of

from planner.answers.calibration import (
    NothingToMeasure,
    calibration_document,
    cuda_device,
    facts_toml,
    probe_csv,
    probe_document,
    probe_text,
    to_text,
)
from planner.answers.calibration.probe import Load, Plan
from planner.answers.calibration.reading import file_text, read_measurements
from planner.answers.calibration.steps import step_of
from planner.cli import ANSWER, NO_PLAN, WRONG_INPUT, main
from planner.inputs.catalogue import COLUMNS, make_fact
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.performance.bundles import step_bundles
from planner.performance.calibrate import calibrated_efficiency_fraction
from planner.performance.training import training_step_s
from planner.physics.nodes import node_columns
from planner.physics.training import training_runs
from planner.physics.training_options import training_candidates
from planner.physics.training_step import AS_FAST
from planner.trace.errors import InputError
from planner.trace.numbers import percent_text
from planner.validation.stated import RECOMPUTE

SAMPLE = data_folder() / "samples" / "measurements.csv"
HEADER = "sku,model,precision,accelerators,batch_sequences,sequence_tokens,quantity,value,unit,source"
H100 = "accelerator.h100-sxm-80gb"
ONE = "h100-8,llama-3-8b,bf16,64,512,8192"


@pytest.fixture
def write(tmp_path):
    def write(*rows: str, header: str = HEADER) -> Path:
        path = tmp_path / "mine.csv"
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        return path

    return write


def only(path: Path, sizes=()):
    (one,) = calibration_document(path, sizes)["hardware"]
    return one


def ours(write, size: int = 64) -> float:
    """Tokens a second that we predict for the workload of `ONE`."""
    return only(write(f"{ONE},step_time,10,s,me"), [size])["speed"]["sizes"][0]["before_tokens_per_s"]


# ---- one point


@pytest.mark.parametrize(
    ("quantity", "unit", "of_rate"),
    [
        ("tokens_rate", "tokens/s", lambda rate: rate),
        ("tokens_rate_per_accelerator", "1/s", lambda rate: rate / 64),
        ("step_time", "ms", lambda rate: 1000 * 512 * 8192 / rate),
    ],
)
def test_every_way_to_state_a_speed_gives_the_same_factor(write, quantity, unit, of_rate):
    """A system's rate, an accelerator's and a step are one measurement: what we predict is factor 1."""
    rate = ours(write)

    speed = only(write(f"{ONE},{quantity},{of_rate(rate)!r},{unit},me"))["speed"]

    assert speed["factor"] == pytest.approx(1.0, rel=1e-6)
    assert speed["points"][0]["before_error"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("share", [0.7, 0.95, 1.1])
def test_the_calibrated_model_says_what_was_measured(write, share):
    """The point itself is met, on the layout that the planner then chooses, and other sizes move with it."""
    rate = share * ours(write)

    speed = only(write(f"{ONE},tokens_rate,{rate!r},/s,me"), [64, 128])["speed"]

    assert speed["points"][0]["after_tokens_per_s"] == pytest.approx(rate, rel=1e-4)
    assert speed["sizes"][0]["after_tokens_per_s"] == pytest.approx(rate, rel=1e-4)
    moved = speed["sizes"][1]["after_tokens_per_s"] / speed["sizes"][1]["before_tokens_per_s"]
    # Layouts within 2 % are equally good, and another one may be taken.
    as_fast = load_catalogue().fact(AS_FAST).value
    assert min(share, 1) / (1 + as_fast) <= moved <= max(share, 1) * (1 + as_fast)
    assert moved == pytest.approx(share, rel=0.05)


def test_a_plan_that_takes_the_facts_trains_at_the_calibrated_rate(write, tmp_path):
    """Agreement: the rate of `plan` under these `[facts]` is the one that the calibration prints."""
    document = calibration_document(write(f"{ONE},tokens_rate,{0.8 * ours(write)!r},/s,me"), sizes=[32, 64])
    shipped = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    scenario = parse_scenario(shipped + "\n" + facts_toml(document), "calibrated")
    check_scenario(scenario, load_catalogue())
    inputs = Inputs(scenario, load_catalogue())

    single, _ = training_candidates(inputs)
    runs = training_runs(inputs, node_columns(inputs), single)
    h100 = [inputs.skus[k].name == "h100-8" for k in inputs.node_group_sku[runs.candidates.node_group]]

    for size in document["hardware"][0]["speed"]["sizes"]:
        same = np.array(h100) & (runs.accelerators.value == size["accelerators"])
        rate = runs.tokens_per_s_per_gpu.value[same] * size["accelerators"]
        assert rate == pytest.approx(size["after_tokens_per_s"], rel=1e-5)


def test_measured_power_scales_the_rating_of_the_power_law(write):
    """By hand: P of P_idle + s (P - P_0) + 8 P = 5 kW, the host on a line of slope s, over ours."""
    value = {key: load_catalogue().fact(key).value for key in (f"{H100}.tdp", f"{H100}.idle_power")}
    idle_kw, host_kw = (
        load_catalogue().fact(f"server.hgx-h100.{name}").value for name in ("host_idle_power", "host_power")
    )
    slope = (host_kw - idle_kw) / (value[f"{H100}.tdp"] - value[f"{H100}.idle_power"])
    each_kw = (5.0 - idle_kw + slope * value[f"{H100}.idle_power"]) / (8 + slope)

    power = only(write(f"{ONE},node_power,5000,W,me", f"{ONE},accelerator_power,0.5,kW,me"))["power"]

    modelled_kw = power["points"][0]["before_kw"]
    assert 0.85 < modelled_kw / 0.7 < 0.96  # metered: 0.91 and 0.93 of the rating
    first, second = each_kw / modelled_kw, 0.5 / modelled_kw
    assert [row["factor"] for row in power["points"]] == pytest.approx([first, second], rel=1e-6)
    assert power["after_kw"] == pytest.approx(0.7 * (first * second) ** 0.5, rel=1e-6)
    assert power["left_out_errors"] == pytest.approx([second / first - 1, first / second - 1], rel=1e-6)


# ---- other sizes: what the error is


def test_the_error_is_that_of_each_point_from_the_others(write):
    """Two sizes measured at one share of ours: each predicts the other, so nothing is left of the error."""
    rate, larger = ours(write), ours(write, 128)
    other = ONE.replace(",64,", ",128,")

    same = only(write(f"{ONE},tokens_rate,{rate!r},/s,me", f"{other},tokens_rate,{larger!r},/s,me"))
    apart = only(write(f"{ONE},tokens_rate,{rate!r},/s,me", f"{other},tokens_rate,{0.9 * larger!r},/s,me"))

    assert same["speed"]["expected_error"]["worst"] == pytest.approx(0.0, abs=1e-6)
    assert apart["speed"]["expected_error"]["worst"] == pytest.approx(0.11, abs=0.015)


def test_one_size_takes_its_error_from_published_series(write):
    """A size measured twice says nothing about other sizes: the catalogue's error stands.

    It ends where nine in ten published pairs do, and the text does not call that the worst.
    """
    fact = load_catalogue().fact("performance.training.calibrated_error")
    rate = ours(write)

    document = calibration_document(write(*[f"{ONE},tokens_rate,{rate!r},/s,me"] * 2))
    error = document["hardware"][0]["speed"]["expected_error"]

    assert (error["median"], error["worst"]) == (fact.value, fact.high)
    assert error["errors"] == []
    assert (
        f"{percent_text(fact.value)}, nine in ten within {percent_text(fact.high)}: published series"
        in to_text(document)
    )


def test_a_size_at_which_nothing_fits_says_why(write):
    """Seven accelerators divide neither 32 layers nor 512 sequences."""
    size = only(write(f"{ONE},step_time,10,s,me"), [7])["speed"]["sizes"][0]

    assert size["reason"].startswith("no layout divides 7 accelerators")


SCALING = data_folder() / "fit" / "scaling.csv"
LEAST = 0.01  # efficiency below which no published step is

Points = list[tuple[float, Callable[[float], float]]]  # a step's measured seconds; those at an efficiency


def logged_series() -> dict[str, Points]:
    """MLPerf series of one submitter and round, on the layouts of their configurations."""
    series: dict[str, Points] = {}
    measured, _, problems = read_measurements(SCALING.name, file_text(SCALING), load_catalogue())
    assert not problems
    for one in measured:
        step = step_of(load_catalogue(), one.workload)
        series.setdefault(one.source, []).append((one.step_s, step.seconds))
    return series


def paper_series(shared: Path) -> Iterable[Points]:
    """The stated layouts of one model: SC'21 table 2, and both systems of MegaScale."""
    series: dict[tuple[str, int], Points] = {}
    with (shared / "validation" / "performance.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            said = json.loads(row["inputs"])
            if said["kind"] != "train" or "Table 2" not in row["source"] or row["tolerance"] == "informative":
                continue
            stack, stage = stack_of(row["source"], said["recompute"], said["gpu"])
            hardware = hardware_arguments(said["gpu"], said["dtype"])
            arguments = shape_arguments(said) | hardware | FITTED | stack
            codes = {"recompute": RECOMPUTE[said["recompute"]], "sharding": stage}

            def step_s(efficiency: float, arguments=arguments, codes=codes) -> float:
                changed = arguments | {"matrix_efficiency_fraction": efficiency}
                return float(training_step_s(**step_bundles({**changed, **codes})).total_s)

            measured_s = said["global_batch"] * said["seq"] / said["gpus"] / float(row["expected"])
            series.setdefault((row["source"], said["layers"]), []).append((measured_s, step_s))
    return series.values()


def pair_errors(points: Points) -> np.ndarray:
    """How far off each size of a series is, predicted from each other one."""
    errors = []
    for (measured_s, step_s), (other_s, other) in itertools.permutations(points, 2):
        found = calibrated_efficiency_fraction(
            step_s=step_s, measured_step_s=measured_s, least_fraction=LEAST
        )
        errors.append(abs(other_s / other(found) - 1))
    return np.array(errors)


@pytest.mark.slow
def test_the_shape_of_scaling_is_that_of_logged_steps():
    """Steps of a second and more, on their own layouts: any size of NVIDIA's and IBM's from any other.

    MLCommons did not verify these steps. Below a second the host decides, and a factor on matrices alone
    is far off; the steps of the submission left out vary among themselves by 6 %.
    """
    series = {
        source: [(s, step_s) for s, step_s in points if s >= 1.0]
        for source, points in logged_series().items()
        if "Oracle" not in source
    }

    each = {source.partition(":")[0]: pair_errors(points) for source, points in series.items()}

    assert {source: errors.size for source, errors in each.items()} == {
        "MLPerf Training v3.1, GPT-3, NVIDIA": 12,
        "MLPerf Training v4.1, GPT-3, NVIDIA": 2,
        "MLPerf Training v5.0, Llama 3.1 405B, NVIDIA": 20,
        "MLPerf Training v5.0, Llama 3.1 405B, IBM and CoreWeave and NVIDIA": 20,
    }
    assert [np.median(errors) for errors in each.values()] == pytest.approx(
        [0.028, 0.016, 0.0062, 0.0046], abs=0.001
    )
    assert max(errors.max() for errors in each.values()) == pytest.approx(0.057, abs=0.001)


@pytest.mark.slow
def test_one_point_predicts_the_other_sizes_of_published_series(shared):
    """The catalogue's error is what every pair shows: the median, and what one and nine of ten keep.

    No point of the file is left out: a step below a second is the worst one to predict others from. Long
    series have most pairs, so that the middle series is further off than the middle pair.
    """
    series = [pair_errors(points) for points in (*logged_series().values(), *paper_series(shared))]
    logged, papers, every = (np.concatenate(part) for part in (series[:5], series[5:], series))
    fact = load_catalogue().fact("performance.training.calibrated_error")

    medians = [np.median(errors) for errors in series]
    assert medians == pytest.approx(
        [0.014, 0.016, 0.202, 0.0062, 0.0046, 0.037, 0.035, 0.039, 0.052], abs=0.001
    )
    assert np.median(medians) == pytest.approx(0.035, abs=0.001)
    assert (logged.size, papers.size) == (74, 28)
    assert (np.median(logged), logged.max()) == pytest.approx((0.0092, 0.220), abs=0.001)
    assert (np.median(papers), papers.max()) == pytest.approx((0.038, 0.110), abs=0.001)
    assert (np.median(every), *np.quantile(every, [0.1, 0.9])) == pytest.approx(
        (fact.value, fact.low, fact.high), abs=0.0015
    )


# ---- the file


def test_every_problem_is_named_at_once(write):
    """One row of every fault, and one that reads well but cannot be."""
    path = write(
        "h100-9,gpt3-175,fp8,0,2.5,2048,speed,-1,W,",
        "a100-80-8,gpt3-175b,fp8,8,8,2048,step_time,10,kg,me",
        f"{ONE},step_time,0.1,s,me",
        f"{ONE},node_power,1,kW,me",
        f"{ONE},step_time,10,s,me,7",
    )

    with pytest.raises(InputError) as error:
        calibration_document(path)

    said = str(error.value)
    for wanted in (
        "line 2: accelerators is '0'",
        "line 2: batch_sequences is '2.5'",
        "line 2: there is no sku 'h100-9'",
        "line 2: there is no model 'gpt3-175'; near: gpt3-175b",
        "line 2: there is no quantity 'speed'; there is tokens_rate",
        "line 2: source is empty",
        "line 2: value is '-1'",
        "line 3: a100-sxm-80gb has no matrix rate at precision 'fp8'",
        "line 3: unit of step_time: 'kg' is a mass",
        "line 4: measured_step_s must lie between",
        "line 5: node_kw must be above what the host draws",
        "line 6: has more cells than the header",
    ):
        assert f"mine.csv: {wanted}" in said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("node_power,72,kW", "node_power is 72,000 W, and a node of h100-8 draws 10,200 W at most"),
        (
            "accelerator_power,7000,W",
            "accelerator_power is 7,000 W, and its part of a node of h100-8 draws 1,275 W",
        ),
    ],
)
def test_a_power_that_no_node_draws_is_refused(write, row, said):
    """A rack, or watts for kilowatts: it made the rating of the accelerator thirteen times its own."""
    with pytest.raises(InputError, match=said):
        calibration_document(write(f"h100-8,llama-3.1-8b,bf16,8,512,8192,{row},mine"))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER.replace(",unit", ""), "the column 'unit' is missing"),
        (HEADER + ",tpp", "the column 'tpp' is not known"),
        (HEADER + ",sku", "the column 'sku' occurs twice"),
        (HEADER, "has no measurement below its header"),
    ],
)
def test_a_wrong_header_is_named(write, header, said):
    with pytest.raises(InputError, match=said):
        calibration_document(write(header=header))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("8,,,", "needs tp and pp"),
        ("8,12,4,", "recompute is '4': write a whole number from 0 to 2"),
        ("3,12,2,", "tp x pp x cp = 36 does not divide 64 accelerators"),
        ("8,1,2,65", "dp 8 x micro_batch 65 does not divide a batch of 512"),
        ("8,x,2,", "pp is 'x': write a whole number from 1 or more"),
    ],
)
def test_a_wrong_layout_is_named(write, cells, said):
    path = write(f"{ONE},step_time,10,s,me,{cells}", header=HEADER + ",tp,pp,recompute,micro_batch")

    with pytest.raises(InputError, match=said):
        calibration_document(path)


def test_a_mixture_of_experts_is_refused(write):
    """The step of experts leaves more out (35 % in published runs): a factor found on it would hide that."""
    path = write("h100-8,mixtral-8x7b,bf16,64,512,8192,step_time,10,s,me")

    with pytest.raises(InputError, match="line 2: mixtral-8x7b is a mixture of experts"):
        calibration_document(path)


@pytest.mark.slow
def test_a_stated_layout_is_kept(write):
    """Every size of the sample's stated layout keeps it; the planner's choice is not asked for."""
    document = calibration_document(SAMPLE)
    stated = next(one for one in document["hardware"] if one["accelerator"] == "a100-sxm-80gb")["speed"]

    assert stated["points"][0]["layout"] == "TP8 PP12, as stated"
    assert {size.get("layout") for size in stated["sizes"]} == {"TP8 PP12, as stated"}


def test_the_text_holds_every_number_of_the_document_and_the_facts_are_toml():
    document = calibration_document(SAMPLE)
    text, facts = to_text(document), tomllib.loads(facts_toml(document))["facts"]

    assert facts == document["facts"]
    assert facts.keys() <= load_catalogue().facts.keys()
    for one in document["hardware"]:
        for row in one["speed"]["points"]:
            assert f"{row['measured_tokens_per_s']:,.0f}" in text
    assert "each of the 3 measurements predicted from the others" in text


# ---- the command


def test_the_command_prints_and_writes_the_facts(capsys, tmp_path):
    out = tmp_path / "facts.toml"

    code = main(["calibrate", str(SAMPLE), "--sizes", "1024", "--out", str(out)])

    said = capsys.readouterr()
    assert code == ANSWER
    assert f"{H100}.matrix_efficiency" in said.out
    assert said.err == f"written: {out}\n"
    assert tomllib.loads(out.read_text(encoding="utf-8"))["facts"][f"{H100}.tdp"].endswith(" W")


def test_the_command_answers_in_json(capsys):
    assert main(["calibrate", str(SAMPLE), "--json"]) == ANSWER
    assert json.loads(capsys.readouterr().out)["kind"] == "calibration"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a CSV of measurements"),
        (("none.csv",), "none.csv: cannot be read: No such file"),
        (("--measure", str(SAMPLE)), "--measure takes no measurements"),
        ((str(SAMPLE), "--out", "no/such/folder.toml"), "cannot be written"),
    ],
)
def test_wrong_use_is_refused(capsys, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)

    assert main(["calibrate", *arguments]) == WRONG_INPUT
    assert said in capsys.readouterr().err


# ---- the probe


class FakeDevice:
    """A device of a known speed: 700 TFLOP/s at width 8192, 500 at 4096; 2.8 TB/s; 690 W busy, 120 W idle."""

    name, driver, software = "NVIDIA H100 80GB HBM3", "550.54", "PyTorch 2.5"

    def multiply(self, width: int, repeats: int) -> Load:
        elapsed_s = 2 * width**3 * repeats / ({4096: 500e12, 8192: 700e12}[width])
        steady = max(1, round(elapsed_s / 0.02))
        return Load(elapsed_s, (300.0,) * (steady // 4) + (690.0,) * (steady - steady // 4))

    def copy(self, size_gb: float, repeats: int) -> Load:
        return Load(2 * size_gb * repeats / 2800, ())

    def idle_power_w(self, samples: int) -> tuple[float, ...]:
        return (118.0, 120.0, 125.0)


def test_the_probe_finds_what_the_device_can():
    """The best width counts, the first readings of power (still rising) do not, the spread is kept."""
    document = probe_document(FakeDevice(), date(2026, 1, 2))
    seen = {one["key"].split(".")[-1].split("@")[0]: one for one in document["facts"]}

    assert seen["achieved_bf16"]["value"] == pytest.approx(700, rel=1e-9)
    assert seen["achieved_memory_bandwidth"]["value"] == pytest.approx(2800, rel=1e-9)
    assert seen["matrix_power"]["value"] == 690
    assert [seen["idle_power"][end] for end in ("low", "value", "high")] == [118, 120, 125]
    assert {one["kind"] for one in document["facts"]} == {"measured"}


def test_the_probe_runs_long_enough_for_the_power_counter():
    """Loads last about as long as planned, whatever the device: 6 s of matrices."""
    seen = []

    class Watched(FakeDevice):
        def multiply(self, width: int, repeats: int) -> Load:
            load = super().multiply(width, repeats)
            seen.append(load.elapsed_s)
            return load

    probe_document(Watched(), date(2026, 1, 2), Plan(power_s=6.0))

    assert max(seen) == pytest.approx(6.0, rel=0.01)


def test_what_the_probe_saw_are_rows_of_facts():
    """Each row has the columns of `data/facts`, is taken by the catalogue's own check, and is dated."""
    document = probe_document(FakeDevice(), date(2026, 1, 2))
    rows = list(csv.DictReader(probe_csv(document).splitlines()))
    source = load_catalogue().fact(f"{H100}.tdp").source

    assert tuple(rows[0]) == COLUMNS
    for row in rows:
        fact = make_fact(
            row["key"],
            float(row["value"]),
            row["unit"],
            source,
            kind=row["kind"],
            low=float(row["low"]),
            high=float(row["high"]),
        )
        assert fact.key.startswith("accelerator.nvidia-h100-80gb-hbm3.")
        assert fact.key.endswith("@probe-2026-01-02")
        assert "driver 550.54" in row["locator"]
        assert row["key"] in probe_text(document)


def test_without_pytorch_there_is_nothing_to_measure(capsys, monkeypatch):
    """The answer is a sentence and exit code 1, as for every question without an answer."""
    monkeypatch.setitem(sys.modules, "torch", None)

    assert main(["calibrate", "--measure"]) == NO_PLAN
    assert capsys.readouterr().err.startswith("nothing to measure: PyTorch is not installed")


class NvmlError(Exception):
    """As NVML's binding names it."""


class Event:
    """A mark on the device's queue: the second one is reached after three looks."""

    def __init__(self, enable_timing: bool) -> None:
        self.looks = 0

    def query(self) -> bool:
        self.looks += 1
        return self.looks > 3

    def elapsed_time(self, end: Event) -> float:
        return 1500.0

    def record(self) -> None: ...

    def synchronize(self) -> None: ...


class Block:
    """Memory of the device; what is done to it is counted in `done`."""

    done: ClassVar[list[str]] = []

    def copy_(self, origin: Block) -> None:
        self.done.append("copy")


def modules(
    monkeypatch, *, cuda: str | None = "12.4", sees: bool = True, named: bool = True, fails: bool = False
) -> None:
    """PyTorch and NVML as far as the probe uses them: 345.6 W at every reading."""
    torch, nvml = ModuleType("torch"), ModuleType("pynvml")
    properties = {"name": "NVIDIA H100 80GB HBM3"} | ({"uuid": "1234"} if named else {})
    torch.__version__, torch.version = "2.5.1", SimpleNamespace(cuda=cuda)
    torch.cuda = SimpleNamespace(
        is_available=lambda: sees,
        get_device_properties=lambda _: SimpleNamespace(**properties),
        Event=Event,
        synchronize=lambda: None,
    )
    torch.bfloat16, torch.uint8 = "bfloat16", "uint8"
    torch.randn = torch.ones = torch.empty_like = lambda *_, **__: Block()
    torch.matmul = lambda *_, **__: Block.done.append("multiply")

    def start() -> None:
        if fails:
            raise NvmlError("driver not loaded")

    nvml.NVMLError, nvml.nvmlInit = NvmlError, start
    nvml.nvmlDeviceGetHandleByUUID = lambda uuid: uuid
    nvml.nvmlSystemGetDriverVersion = lambda: "550.54"
    nvml.nvmlDeviceGetPowerUsage = lambda handle: {"GPU-1234": 345_600}[handle]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr("planner.answers.calibration.cuda.time", SimpleNamespace(sleep=lambda _: None))


def test_the_device_queues_the_work_and_reads_power_until_it_is_done(monkeypatch):
    """1,500 ms between the marks are 1.5 s; three readings of 345,600 mW are 345.6 W each."""
    modules(monkeypatch)
    monkeypatch.setattr(Block, "done", [])
    device = cuda_device()

    assert (device.name, device.driver, device.software) == (
        "NVIDIA H100 80GB HBM3",
        "550.54",
        "PyTorch 2.5.1",
    )
    assert device.multiply(4096, 5) == Load(1.5, (345.6,) * 3)
    assert device.copy(1.0, 2) == Load(1.5, (345.6,) * 3)
    assert Block.done == ["multiply"] * 5 + ["copy"] * 2
    assert device.idle_power_w(4) == (345.6,) * 4


def test_the_name_of_a_device_is_no_formula(monkeypatch):
    """The driver tells the name, and the file is for a spreadsheet as well."""
    monkeypatch.setattr(FakeDevice, "name", "=HYPERLINK(1)")
    rows = list(csv.DictReader(probe_csv(probe_document(FakeDevice(), date(2026, 1, 2))).splitlines()))

    assert rows
    assert all(row["locator"].startswith("'=HYPERLINK(1)") for row in rows)


def test_the_command_measures_and_writes_rows_of_facts(monkeypatch, capsys, tmp_path):
    modules(monkeypatch)
    out = tmp_path / "seen.csv"

    assert main(["calibrate", "--measure", "--out", str(out)]) == ANSWER
    assert "NVIDIA H100 80GB HBM3, driver 550.54, PyTorch 2.5.1" in capsys.readouterr().out
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [row["value"] for row in rows if ".idle_power@" in row["key"]] == ["345.6"]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"cuda": None}, "sees no NVIDIA device"),
        ({"sees": False}, "sees no NVIDIA device"),
        ({"named": False}, "this PyTorch does not name its device"),
        ({"fails": True}, "NVML does not answer: driver not loaded"),
    ],
)
def test_a_machine_without_a_device_says_so(monkeypatch, state, said):
    """A build for the CPU or another maker, no device, an old PyTorch, a driver that does not answer."""
    modules(monkeypatch, **state)

    with pytest.raises(NothingToMeasure, match=said):
        cuda_device()


def test_without_nvml_there_is_nothing_to_measure(monkeypatch):
    modules(monkeypatch)
    monkeypatch.setitem(sys.modules, "pynvml", None)

    with pytest.raises(NothingToMeasure, match="NVML binding"):
        cuda_device()
