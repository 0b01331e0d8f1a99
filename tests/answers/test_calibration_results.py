"""Result files of serving benchmarks as measurements: their formats, what they lack, what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.answers.calibration import Stated, calibration_document, to_text
from planner.answers.calibration.results import read_files
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.inputs.aliases import accelerator_called, model_called
from planner.inputs.loading import load_catalogue
from planner.inputs.results import result_points
from planner.trace.errors import InputError

RESULTS = Path(__file__).resolve().parents[1] / "results"
STATED = {
    "inferencex.json": Stated(),
    "bench-serve.json": Stated(sku="h100-8", precision="bf16", accelerators=4),
    "guidellm.json": Stated(sku="h100-8", precision="bf16", accelerators=2, engine="sglang"),
    "profile_export_aiperf.json": Stated(sku="h100-8", precision="bf16", accelerators=4),
    "summary_results.json": Stated(accelerators=2),
}


def served(name: str):
    return read_files([RESULTS / name], load_catalogue(), STATED[name]).served


def loaded(name: str):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def written(folder: Path, found: object, name: str = "run.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


# ---- formats: requests that run are tokens/s times the time between two tokens of one (Little's law)


def test_a_line_of_inferencex_says_all():
    """1,180 tokens/s of 13.2 ms each are 15.6 requests; lengths even in 0.8 to 1 of 1,024 have mean 921.6."""
    one = served("inferencex.json")[1]

    assert (one.sku.name, one.model, one.precision) == ("h200-8", "llama-3.3-70b", "fp8")
    assert (one.accelerators, one.groups, one.engine) == (2, 1, "vllm")
    assert (one.tokens_per_s, one.batch) == (pytest.approx(1180), pytest.approx(1180 * 0.0132))
    assert (one.input_tokens, one.output_tokens) == (pytest.approx(921.6), pytest.approx(921.6))
    assert one.output_scv_ratio == pytest.approx(0.2**2 / 12 / 0.9**2)


def test_attention_apart_is_a_group_for_each_accelerator(tmp_path):
    """DeepSeek on eight: `dp_attention` repeats attention, which no split of ours chosen freely need do."""
    row = loaded("inferencex.json")[0] | {
        "model": "deepseek-v3",
        "tp": 8,
        "dp_attention": "true",
        "ep": 8,
        "conc": 64,
    }

    (one,) = read_files([written(tmp_path, row)], load_catalogue(), Stated()).served

    assert (one.model, one.accelerators, one.groups) == ("deepseek-v3", 8, 8)


def test_bench_serve_counts_its_requests():
    (one,) = served("bench-serve.json")

    assert (one.model, one.engine, one.tokens_per_s) == ("llama-3.1-70b", "vllm", 1490.0)
    assert (one.input_tokens, one.output_tokens, one.output_scv_ratio) == (1000.0, 200.0, 1.0)
    assert one.batch == pytest.approx(1490 * 0.040)


def test_bench_serve_with_the_length_of_each_answer(tmp_path):
    """Answers of 100 and 300: mean 200, variance 10,000, squared spread a quarter. A line for each run."""
    run = loaded("bench-serve.json") | {"output_lens": [100, 300, 0], "tp": "4"}
    path = tmp_path / "runs.json"
    path.write_text("\n".join(json.dumps(one) for one in (run, run | {"date": "later"})), encoding="utf-8")

    found = read_files([path], load_catalogue(), Stated(sku="h100-8", precision="bf16")).served

    assert [one.output_scv_ratio for one in found] == [0.25, 0.25]
    assert [one.accelerators for one in found] == [4, 4]


def test_runs_of_guidellm():
    """Tokens a second are requests a second times the mean answer."""
    first, second = served("guidellm.json")

    assert (first.model, first.engine) == ("qwen3-32b", "sglang")
    assert (first.tokens_per_s, second.tokens_per_s) == (1.75 * 256, 5.6 * 256)
    assert second.batch == pytest.approx(5.6 * 256 * 0.0216)
    assert (first.input_tokens, first.output_tokens, first.output_scv_ratio) == (512, 256, 0)


def test_an_export_of_aiperf():
    (one,) = served("profile_export_aiperf.json")

    assert (one.model, one.tokens_per_s) == ("llama-3.1-70b", 1080)
    assert one.batch == pytest.approx(1080 * 0.028)
    assert one.output_scv_ratio == pytest.approx((20 / 200) ** 2)


def test_an_export_of_genai_perf_names_its_model_elsewhere(tmp_path):
    """GenAI-Perf without streaming: no time between tokens, so the concurrency that it kept counts."""
    export = loaded("profile_export_aiperf.json")
    del export["inter_token_latency"]
    export["input_config"] = {
        "model_names": ["Qwen3-32B"],
        "perf_analyzer": {"stimulus": {"concurrency": 16}},
    }

    (one,) = read_files(
        [written(tmp_path, export)], load_catalogue(), STATED["profile_export_aiperf.json"]
    ).served

    assert (one.model, one.batch) == ("qwen3-32b", 16)


def test_offline_runs_of_mlperf_hold_what_memory_holds():
    """31,000 tokens/s of eight is 7,750 of two. Prompts are a fact of the benchmark, answers in the file."""
    first, second = served("summary_results.json")

    assert (first.sku.accelerator, first.model, first.precision) == ("h100-sxm-80gb", "llama-2-70b", "fp8")
    assert first.tokens_per_s == second.tokens_per_s == 7750
    assert first.engine == "tensorrt-llm"
    assert first.input_tokens == load_catalogue().fact("benchmark.llama2-70b-99.input_tokens").value
    assert first.output_tokens == 294.4
    # 160 GB less 70 GB of weights, 0.164 MB a token in 16 bits: of the order of 200 requests of 600 tokens.
    assert 100 < first.batch < 512


@pytest.mark.parametrize("name", STATED)
def test_every_format_is_calibrated_on(name):
    document = calibration_document(RESULTS / name, stated=STATED[name])

    (hardware,) = document["hardware"]
    (model,) = hardware["serving"]
    assert len(model["points"]) == document["files"][0]["points"] >= 1
    assert document["files"][0]["format"] in to_text(document)
    json.dumps(document, allow_nan=False)


# ---- what is left out, and what is missing


def test_what_says_nothing_of_a_step_is_left_out_and_said():
    text = to_text(calibration_document(RESULTS / "inferencex.json"))

    assert "inferencex.json: InferenceX, 3 points" in text
    assert "left out 1 point: tokens are drafted (speculative decoding)" in text
    assert "left out 1 point: prompts are read and answers written on several servers" in text


def test_runs_that_are_listed_twice_count_once(tmp_path):
    """MLPerf lists one run under two accuracies."""
    row = loaded("summary_results.json")[0]
    path = written(tmp_path, [row, row | {"Model": "llama2-70b-99", "UsedModel": "llama2-70b-99"}])

    found = read_files([path], load_catalogue(), Stated(accelerators=2))

    assert len(found.served) == 1
    assert found.files[0]["left_out"] == [(2, "it is the same run as an earlier point")]


def test_all_that_is_missing_is_said_at_once(capsys):
    assert main(["calibrate", str(RESULTS / "bench-serve.json")]) == WRONG_INPUT

    said = capsys.readouterr().err
    for option in ("--sku", "--precision", "--accelerators"):
        assert option in said
    assert "--model" not in said
    assert "bench serve of vLLM or SGLang" in said


def test_names_that_nobody_knows_are_said(tmp_path):
    """A file of one model may be told which it is; of several it cannot be."""
    run = loaded("bench-serve.json") | {"model_id": "acme/secret-7b"}
    stated = Stated(sku="h100-8", precision="bf16", accelerators=4)
    with pytest.raises(
        InputError, match=r"the model \(--model\) \(not in the catalogue: model 'acme/secret-7b'"
    ):
        read_files([written(tmp_path, run)], load_catalogue(), stated)

    told = Stated(sku="h100-8", model="llama-3.1-8b", precision="bf16", accelerators=4)
    (one,) = read_files([written(tmp_path, run)], load_catalogue(), told).served
    assert one.model == "llama-3.1-8b"

    several = [run, run | {"model_id": "acme/other"}]
    with pytest.raises(InputError, match=r"acme/other.*acme/secret"):
        read_files([written(tmp_path, several)], load_catalogue(), told)


@pytest.mark.parametrize(
    ("name", "stated", "said"),
    [
        ("inferencex.json", Stated(accelerators=4), "--accelerators 4: inferencex.json says 2 (point 1)"),
        ("inferencex.json", Stated(sku="h100-8"), "--sku h100-8: inferencex.json says h200-8"),
        ("inferencex.json", Stated(model="lama"), "--model: there is no model 'lama'"),
        ("bench-serve.json", Stated(precision="fp9"), "--precision: there is no precision 'fp9'"),
    ],
)
def test_what_contradicts_a_file_is_refused(name, stated, said):
    with pytest.raises(InputError) as refused:
        read_files([RESULTS / name], load_catalogue(), stated)

    assert said in str(refused.value)


def test_a_table_needs_no_options(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(
        "sku,model,precision,accelerators,batch,input_tokens,output_tokens,engine,quantity,value,unit,source\n"
        "h100-8,llama-3.1-70b,bf16,4,64,1000,200,sglang,tokens_rate,1500,/s,me\n",
        encoding="utf-8",
    )

    (one,) = read_files([path], load_catalogue(), Stated()).served
    assert one.engine == "sglang"
    with pytest.raises(InputError, match=r"--sku, --batch: a table of measurements says it itself"):
        read_files([path], load_catalogue(), Stated(sku="h100-8", batch=3.0))


@pytest.mark.slow
def test_files_of_one_name_are_told_apart(tmp_path, capsys):
    """Each run has a folder of its own, in which the file has the same name."""
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(str(written(tmp_path / folder, loaded("guidellm.json"), "benchmarks.json")))

    options = ["--sku", "h100-8", "--precision", "bf16", "--accelerators", "2"]
    assert main(["calibrate", *paths, *options]) == ANSWER

    said = capsys.readouterr().out
    assert all(f"{path}: GuideLLM, 2 points" in said for path in paths)


def test_a_point_that_cannot_be_is_left_out_where_others_remain(tmp_path):
    """A rate above the dense peak is nobody's to mend in a published file."""
    runs = loaded("inferencex.json")[:3]
    runs[1] |= {"output_tput_per_gpu": 5e6, "mean_tpot": 1e-5}

    document = calibration_document(written(tmp_path, runs))

    (left_out,) = document["files"][0]["left_out"]
    assert left_out["points"] == [2]
    assert "above the dense peak" in left_out["reason"]
    with pytest.raises(InputError, match=r"no point of it can be used: 1: .*above the dense peak"):
        calibration_document(written(tmp_path, runs[1:2]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is an empty list"),
        ("{}", "is none of the result files known"),
        ('{"a": 1}', "its keys are a; write a CSV"),
        ("{" * 3, "cannot be read as JSON"),
        ("[" * 100_000, "nested deeper than 200 levels"),
        ('[{"a": 1}, 5]', "is none of the result files known"),
    ],
)
def test_other_files_are_refused(text, said):
    with pytest.raises(InputError, match=said):
        result_points("run.json", text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 0, True, "12", [], 10**400])
def test_numbers_that_cannot_be_are_left_out(tmp_path, value):
    run = loaded("bench-serve.json") | {"output_throughput": value}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run), encoding="utf-8")

    with pytest.raises(InputError, match=r"output_throughput is .* and must be a number above 0"):
        read_files([path], load_catalogue(), STATED["bench-serve.json"])


# ---- names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA H100-SXM-80GB", "h100-sxm-80gb"),
        ("AMD Instinct MI300X 192GB HBM3", "mi300x"),
        ("NVIDIA GH200 Grace Hopper Superchip 144GB", "gh200-144gb"),
        ("h200-cw", "h200-sxm-141gb"),
        ("NVIDIA H100-SXM-64GB", None),  # another memory is another accelerator
        ("NVIDIA RTX 4000 Ada-PCIe-20GB", None),
        ("", None),
    ],
)
def test_accelerators_by_their_names(text, name):
    assert accelerator_called(text, load_catalogue()) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b"),
        ("meta-llama/Llama-2-70b-chat-hf", "llama-2-70b"),
        ("llama2-70b-99.9", "llama-2-70b"),
        ("llama3_1-70b-fp8_dyn", "llama-3.1-70b"),
        ("Qwen/Qwen3-32B-FP8", "qwen3-32b"),
        ("acme/llama-3.1-70b-pruned", None),  # another model, not another edition
        ("resnet50", None),
    ],
)
def test_models_by_their_names(text, name):
    assert model_called(text, load_catalogue()) == name
