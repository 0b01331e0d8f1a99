"""Jobs and runs that train adapters next to frozen weights: one rate at every door, and what it spares."""

from __future__ import annotations

from typing import Any

import pytest

from planner.answers.checkpoints.question import terms_of_job
from planner.answers.checkpoints.setting import setting_of as checkpoints_of
from planner.answers.job import job_document, job_from_flags, read_job
from planner.answers.job.footprint import Footprint, footprint_of
from planner.answers.job.setting import setting_of
from planner.answers.job.work import Done, training_inputs
from planner.answers.plan.work import training_sentences
from planner.answers.throughput import Question, throughput_document
from planner.inputs.job.schema import Job
from planner.inputs.job_question import CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.inputs.scenario.files import read_toml
from planner.physics.divisible_work import NodeWork, node_work
from planner.physics.run_speed import Speed, training_speed
from planner.physics.training_options import training_candidates
from planner.program.plan import plan_fleet
from planner.trace.errors import InputError

CATALOGUE = load_catalogue()
SEQUENCE, BATCH, TOKENS = 4096, 128, 1e8
LARGE = {"deepseek-v3": "b300-8"}  # models that no node of H100 holds
SIZES = f"sequence_tokens = {SEQUENCE}\nbatch_tokens = {SEQUENCE * BATCH}\n"
FRAME = """
title = "adapters"
[site]
grid = "us"
pue = 1.1
[hardware]
sku = "h100-8"
"""
SCENARIO = """
title = "adapters"
[horizon]
start = 2026-01-01
periods = 2
period = "quarter"
[[sites]]
name = "near"
grid = "us"
pue = 1.1
power_cap = "10 MW"
racks = 100
electricity_price = "80 USD/MWh"
[[fleet]]
sku = "h100-8"
site = "near"
nodes = 100
in_service = 2025-01-01
{work}
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
"""


def job(work: str, model: str = "llama-3.1-70b", phase: str = "fine_tuning", nodes: int = 1) -> Job:
    table = f'[{phase}]\nmodel = "{model}"\ntokens = {TOKENS!r}\nnodes = {nodes}\n{work}'
    frame = FRAME.replace("h100-8", LARGE.get(model, "h100-8"))
    return read_job(read_toml(frame + table, "job"), "job.toml", CATALOGUE)


def footprint(work: str, **of: Any) -> Footprint:
    return footprint_of(setting_of(job(work, **of), CATALOGUE))


def done_of(found: Footprint) -> Done:
    one = found.phase("fine_tuning")
    assert one is not None
    assert one.done is not None
    return one.done


def tokens_per_s(found: Footprint) -> float:
    """Tokens over the useful hours of the run."""
    done = done_of(found)
    assert done.duration_h is not None
    assert done.useful is not None
    return TOKENS / (3600.0 * float(done.duration_h.value) * float(done.useful.value))


def training_kw(found: Footprint) -> float:
    states = done_of(found).states
    assert states is not None
    return float(states.powers["training_kw"].value)


def of_pool(model: str, work: str) -> NodeWork:
    """What a node of the pool does in a second, and its power."""
    table = (
        f'[[pools]]\nname = "tuning"\nmodel = "{model}"\nreference = "h100-8"\njobs = "1 /d"\n'
        f"job_tokens = 5e7\nsequence_tokens = {SEQUENCE}\nbatch_sequences = {BATCH}\n{work}"
    )
    text = SCENARIO.format(work=table).replace("h100-8", LARGE.get(model, "h100-8"))
    inputs = Inputs(parse_scenario(text), CATALOGUE)
    (found,) = node_work(inputs, inputs.scenario.pools[0]).values()
    assert isinstance(found, NodeWork)
    return found


def of_throughput(model: str, rank: int | None) -> dict[str, float]:
    question = Question(
        model=model,
        skus=(LARGE.get(model, "h100-8"),),
        nodes=(1,),
        sequence_tokens=SEQUENCE,
        batch_tokens=SEQUENCE * float(BATCH),
        adapter_rank=rank,
    )
    (row,) = throughput_document(question)["rows"]
    return row


@pytest.mark.parametrize(
    ("model", "work", "rank"),
    [
        ("llama-3-8b", "", None),
        ("llama-3-8b", 'method = "full"\n', None),
        ("llama-3.1-70b", 'method = "lora"\n', 16),
        ("llama-3.1-70b", 'method = "lora"\nadapter_rank = 64\n', 64),
        ("mixtral-8x7b", 'method = "lora"\n', 16),
        ("gemma-7b", 'method = "lora"\n', 16),
        ("deepseek-v3", 'method = "lora"\n', 16),
    ],
)
def test_a_job_a_pool_and_throughput_give_the_same_rate(model: str, work: str, rank: int | None) -> None:
    """One function answers: the same model, chip, count, sequence and batch are the same tokens a second."""
    row, pool, found = of_throughput(model, rank), of_pool(model, work), footprint(SIZES + work, model=model)

    assert tokens_per_s(found) == pytest.approx(row["rate_per_s"], rel=1e-9)
    assert tokens_per_s(found) == pytest.approx(pool.rate_per_s.value, rel=1e-9)
    assert training_kw(found) == pytest.approx(row["node_kw"], rel=1e-9)
    assert training_kw(found) == pytest.approx(pool.busy_kw.value, rel=1e-9)


def test_adapters_of_70b_on_eight_h100_by_hand() -> None:
    """Two thirds of the operations of training all weights; they fit where those do not.

    4 N D next to frozen weights (forward and gradient of the input), 6 N D where all are trained; scores of
    attention and the adapters themselves are a few percent. All weights take 2 + 2 + 12 bytes each, 141 GB on
    each of 8 accelerators of 80 GB; frozen ones 2 bytes, 18 GB.
    """
    adapted = footprint(SIZES + 'method = "lora"\n')
    with pytest.raises(InputError, match=r"llama-3\.1-70b on 1 node of h100-8: the smallest of"):
        footprint(SIZES)
    rate = tokens_per_s(adapted) / 8
    assert 0.4 < 4 * 70.6e9 * rate / 989e12 < 0.6  # of the peak, as large runs reach

    four = {
        method: tokens_per_s(footprint(SIZES + f'method = "{method}"\n', nodes=4))
        for method in ("full", "lora")
    }
    assert four["full"] / four["lora"] == pytest.approx(2 / 3, abs=0.04)


def test_the_share_of_the_hardware_is_that_of_its_node_hours() -> None:
    """Making a node, over its life, idle hours charged to used ones: as measured hours carry it."""
    adapted = footprint(SIZES + 'method = "lora"\n')
    one = adapted.phase("fine_tuning")
    assert one is not None
    assert one.done is not None
    hours = float(one.done.node_h.value) * 8
    text = FRAME + f"[fine_tuning]\naccelerator_hours = {hours!r}\n"
    measured = footprint_of(setting_of(read_job(read_toml(text, "job"), "job.toml", CATALOGUE), CATALOGUE))

    assert float(adapted.embodied.value) == pytest.approx(float(measured.embodied.value))
    assert float(adapted.embodied.value) > 0


def test_a_checkpoint_holds_the_adapters_alone() -> None:
    """R (4 h + 2 d (a + kv)) weights in each of 80 layers, by hand; plan and `checkpoint` ask the same."""
    weights = 80 * 16 * (4 * 8192 + 2 * 128 * (64 + 8))
    each = CATALOGUE.fact("checkpoint.bytes_per_parameter").value
    adapted = job('method = "lora"\n')
    assert adapted.fine_tuning is not None
    inputs = training_inputs(setting_of(adapted, CATALOGUE), "fine_tuning", adapted.fine_tuning, "h100-8")
    speed = training_speed(inputs, training_candidates(inputs)[0])
    terms = terms_of_job(inputs, inputs.scenario.training[0], inputs.node_groups[0], CheckpointQuestion())

    assert float(speed.checkpoint_gb.value[0]) == pytest.approx(weights * each / 1e9)
    assert float(checkpoints_of(terms, "h100-8", 1).size_gb.value) == pytest.approx(weights * each / 1e9)


def test_runs_of_one_plan_may_train_adapters_and_all_weights() -> None:
    """Each has its own speed and checkpoint, as alone; a plan reads them as columns."""
    run = '[[training]]\nname = "{name}"\nmodel = "llama-3-8b"\ntokens = 1e9\nprecision = "bf16"\n{sizes}'
    run += 'nodes = [1]\ndeadline = 2026-06-01\ncheckpoint_storage = "parallel-fs"\n{method}'
    kinds = {"all": "", "few": 'method = "lora"\n', "more": 'method = "lora"\nadapter_rank = 256\n'}

    def speed(names: tuple[str, ...]) -> Speed:
        runs = "".join(run.format(name=name, sizes=SIZES, method=kinds[name]) for name in names)
        inputs = Inputs(parse_scenario(SCENARIO.format(work=runs)), CATALOGUE)
        return training_speed(inputs, training_candidates(inputs)[0])

    together = speed(tuple(kinds))
    for i, name in enumerate(kinds):
        alone = speed((name,))
        for column in ("tokens_per_s_per_gpu", "training_kw", "checkpoint_gb"):
            assert getattr(together, column).value[i] == pytest.approx(getattr(alone, column).value[0]), name
    assert together.tokens_per_s_per_gpu.value[1] > together.tokens_per_s_per_gpu.value[2]


def test_the_answer_says_what_is_trained() -> None:
    found = job_document(job('method = "lora"\nadapter_rank = 64\n'), CATALOGUE)

    (phase,) = found["phases"]
    assert phase["what"] == (
        "100 million tokens of rank-64 adapters of llama-3.1-70b on 1 node of h100-8 (predicted)"
    )
    assert "rank-64 adapters of llama-3.1-70b" in found["model_card"]
    assert any("all other weights are frozen" in note for note in found["notes"])
    usual = footprint('method = "lora"\n').phase("fine_tuning")
    assert usual is not None
    assert usual.done is not None
    assert "rank-16 adapters" in usual.done.said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'model = "llama-3-8b"\ntokens = 1e9\nnodes = 1\nadapter_rank = 8\n',
            'training.adapter_rank: has no effect without method = "lora": write that, or remove it',
        ),
        (
            'model = "llama-3-8b"\ntokens = 1e9\nnodes = 1\nmethod = "full"\nadapter_rank = 8\n',
            'training.adapter_rank: has no effect without method = "lora"',
        ),
        (
            'accelerator_hours = 50\nmethod = "lora"\n',
            "training.method: has no effect with accelerator_hours: nothing is predicted from hours",
        ),
        (
            'accelerator_hours = 50\nmethod = "lora"\nadapter_rank = 8\n',
            "training.adapter_rank: has no effect with accelerator_hours",
        ),
        ('model = "llama-3-8b"\ntokens = 1e9\nnodes = 1\nmethod = "dora"\n', "training.method: 'dora'"),
        (
            'model = "llama-3-8b"\ntokens = 1e9\nnodes = 1\nmethod = "lora"\nadapter_rank = 0\n',
            "training.adapter_rank: 0 is out of range",
        ),
        (
            'model = "dlrm-dcnv2"\nsamples = 1e9\nnodes = 1\nmethod = "lora"\n',
            "training.method: works for a language model and a vision model; 'dlrm-dcnv2' is",
        ),
    ],
)
def test_adapters_without_a_meaning_are_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_job(read_toml(f"{FRAME}[training]\n{text}", "job"), "job.toml", CATALOGUE)

    assert message in str(raised.value)


def test_flags_are_the_same_job() -> None:
    """Flags of the command line, arguments of Python and a file say it with the same words."""
    flags = {"sku": "h100-8", "grid": "us", "model": "llama-3.1-70b", "tokens": 1e8, "nodes": 1}
    held = job_from_flags(flags | {"method": "lora", "adapter_rank": 32, "pue": 1.1}, CATALOGUE)
    file = job('method = "lora"\nadapter_rank = 32\n', phase="training")

    one, other = (footprint_of(setting_of(each, CATALOGUE)).carbon.value for each in (held, file))
    assert one == other
    with pytest.raises(ScenarioError, match='--adapter-rank: has no effect without method = "lora"'):
        job_from_flags(flags | {"adapter_rank": 32}, CATALOGUE)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("adapter_rank = 8\n", 'training.run.adapter_rank: has no effect without method = "lora"'),
        (
            'method = "lora"\nacross = ["gradients"]\n',
            "training.run.across: is of runs that train all weights",
        ),
    ],
)
def test_runs_of_a_plan_take_the_same_words(keys: str, message: str) -> None:
    run = f'[[training]]\nname = "run"\nmodel = "llama-3-8b"\ntokens = 1e9\nprecision = "bf16"\n{SIZES}'
    run += f'nodes = [1]\ndeadline = 2026-06-01\ncheckpoint_storage = "parallel-fs"\n{keys}'
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(SCENARIO.format(work=run))

    assert message in str(raised.value)


@pytest.mark.slow
def test_a_plan_says_what_its_run_trains() -> None:
    """The same words as a job; a run of all weights is said as it was."""
    run = f'[[training]]\nname = "run"\nmodel = "llama-3-8b"\ntokens = 1e9\nprecision = "bf16"\n{SIZES}'
    run += 'nodes = [1]\ndeadline = 2026-06-01\ncheckpoint_storage = "parallel-fs"\nmethod = "lora"\n'
    plan = plan_fleet(parse_scenario(SCENARIO.format(work=run)), baselines=False)
    assert plan.answer.solution is not None

    (said,) = training_sentences(plan, plan.answer.solution)
    assert said.startswith("Run run (rank-16 adapters of llama-3-8b) on 1 node of h100-8")
