"""One predicted training step of one rank as a graph of operations, for tools that read Chakra."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from planner.answers.throughput.one_step import StepRun, step_of
from planner.answers.throughput.question import checked_kind
from planner.answers.throughput.setting import Setting
from planner.answers.throughput.training import work_of
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import TEXT, VISION, Question
from planner.inputs.loading import load_catalogue
from planner.inputs.models import with_model_cards
from planner.performance.memory import redone_fraction
from planner.physics.requests import inputs_of
from planner.report.chakra import COLLECTIVE_NODE, COMPUTE_NODE, RECEIVE_NODE, SEND_NODE, Operation
from planner.trace.errors import InputError

VALUE_BYTES = 2.0  # of activations, gradients and gathered weights
# Parts of a micro-batch: what is done, its terms, its collective.
COMPUTED = ("matrix_s", "attention_s", "elementwise_s", "launch_s", "head_s")
WAITED = (
    ("tensor-parallel sums", "tensor_parallel_s", "all_reduce"),
    ("tokens to experts and back", "expert_parallel_s", "all_to_all"),
    ("keys and values around", "context_parallel_s", "all_gather"),
    ("weights gathered", "weight_gather_s", "all_gather"),
)
GAPS = ("fixed_s", "scale_drag_s")  # the accelerator waits for its host, or for others that are slower


def step_graph(question: Question, catalogue: Catalogue | None = None) -> list[Operation]:
    """What one rank does in a step of the row that the question is about, operation by operation.

    Exposed parts of collectives have their time here; what is hidden has none. In the bubble of the pipeline
    a receive waits, as that of a real one does. Time of the host and what grows with the size of the run are
    gaps before the gradients.

    Raises:
        InputError: the question is wrong, is not about one SKU and one size of a training, or nothing fits.
    """
    catalogue = with_model_cards(catalogue or load_catalogue(), [question.model], Path())
    if checked_kind(question, catalogue) not in (TEXT, VISION):
        raise InputError("--graph: is of the training of a language or vision model")
    if len(question.skus) != 1 or len(question.nodes) != 1:
        raise InputError("--graph: is of one step: name one --sku and one size in --nodes")
    setting = Setting(replace(question, why=""), inputs_of(catalogue, question.skus), {})
    run = step_of(setting, work_of(setting), question.nodes[0], None)
    if isinstance(run, str):
        raise InputError(f"--graph: {run}")
    parameters = setting.fact(f"model.{question.model}.parameters").value
    return list(_operations(run, float(parameters)))


def _operations(run: StepRun, parameters: float) -> Iterator[Operation]:
    layout, many = run.layout, max(1, round(run.micro_batches))
    terms = {name: float(run.step[name].value) for name in run.step}
    sizes = _sizes(run, parameters)
    reached = 0.0

    def operation(name: str, kind: int, lasts_s: float, collective: str = "") -> Operation:
        nonlocal reached
        start, reached = reached, reached + lasts_s
        return Operation(name, kind, start, reached, collective, sizes.get(name.partition(": ")[2] or name))

    for at in range(1, many + 1):
        part = f"micro-batch {at}"
        yield operation(f"{part}: layers", COMPUTE_NODE, sum(terms[one] for one in COMPUTED) / many)
        for name, term, collective in WAITED:
            if terms[term] > 0:
                yield operation(f"{part}: {name}", COLLECTIVE_NODE, terms[term] / many, collective)
        if layout.pp > 1:
            yield operation(f"{part}: to the next stage", SEND_NODE, terms["pipeline_transfer_s"] / many)
    if terms["pipeline_bubble_s"] > 0:
        yield operation("from the stage before", RECEIVE_NODE, terms["pipeline_bubble_s"])
    reached += sum(terms[one] for one in GAPS)
    if terms["data_parallel_s"] > 0:
        yield operation("gradients", COLLECTIVE_NODE, terms["data_parallel_s"], "all_reduce")
    yield operation("optimizer", COMPUTE_NODE, terms["optimizer_s"])


def _sizes(run: StepRun, parameters: float) -> dict[str, float]:
    """Bytes of tensors that are sent, where a plain count gives them: of a dense model."""
    layout, held = (
        run.layout,
        {name: float(one.value) for name, one in run.arguments.items() if one.value is not None},
    )
    if held.get("experts", 0.0) > 0:
        return {}
    values = layout.micro_batch * held["sequence_tokens"] / layout.cp * held["hidden"] * VALUE_BYTES
    own = VALUE_BYTES * parameters / (layout.tp * layout.pp)
    passes = 2.0 + float(redone_fraction(recompute=layout.recompute))
    return {
        "tensor-parallel sums": 2.0 * passes * held["layers"] / layout.pp * values,
        "to the next stage": values / layout.tp,
        "gradients": own,
    }
