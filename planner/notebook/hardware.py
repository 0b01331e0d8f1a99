"""`throughput` and `calibrate`: what hardware delivers, predicted and measured."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from planner.notebook.answer import Answer
from planner.notebook.arguments import Quantity, counts, given_in_python, in_python
from planner.trace.errors import InputError


@in_python
def throughput(
    model: str | Path,
    *,
    serve: bool = False,
    precision: str = "bf16",
    skus: str | Iterable[str] = (),
    nodes: int | Iterable[int] = (),
    grid: str | None = None,
    why: str = "",
    sequence_tokens: int | None = None,
    batch_tokens: float | None = None,
    batch: int | None = None,
    image_pixels: int | None = None,
    adapter_rank: int | None = None,
    across: str = "",
    link: str = "",
    tables: str | Path | None = None,
    table_set: str = "",
    table_ways: str | Iterable[str] = (),
    target_per_s: Quantity | None = None,
    tokens: float | None = None,
    by_h: Quantity | None = None,
    measured: str = "",
    calibration: str | Path | None = None,
    engine: str | None = None,
    mix: str | None = None,
    input_tokens: float | None = None,
    output_tokens: float | None = None,
    alike: bool = False,
    audio_s: Quantity | None = None,
    ttft_s: Quantity | None = None,
    tpot_s: Quantity | None = None,
    quantile_fraction: Quantity | None = None,
    response_s: Quantity | None = None,
    items: float | None = None,
    requests_per_s: Quantity | None = None,
    availability_fraction: Quantity | None = None,
    disaggregated: bool = False,
    data: str | Path | None = None,
) -> Answer:
    """What hardware delivers and draws for a model, at every size: `everfleet throughput`.

    >>> found = ef.throughput("llama-3.1-70b", skus=["h100-8", "b200-8"], nodes=[16, 64])
    >>> frame = found["rows"].to_pandas()
    >>> frame[frame["fits"]][["sku", "nodes"]].values.tolist()
    [['h100-8', 16], ['h100-8', 64], ['b200-8', 16], ['b200-8', 64]]
    >>> found["rows"][0]["rate_per_s"].explain().unit
    '1/s'
    >>> enough = ef.throughput("llama-3.1-70b", skus="h100-8", tokens=15e12, by_h="90 d")
    >>> enough["reached"][0]["fits"]
    True

    Args:
        model: of the catalogue, or its config.json.
        serve: whether it serves; else it is trained.
        precision: number format of the weights.
        skus: kinds of node; all where none is named.
        nodes: sizes to look at.
        grid: region of the catalogue, for money and carbon of a million tokens; us.
        why: opens the row `SKU:SIZE`; its numbers are in `trace`.
        sequence_tokens: of training; 8192.
        batch_tokens: tokens of a step.
        batch: images or samples of a step, or made at once.
        image_pixels: side of an image; 224.
        adapter_rank: trains adapters of this rank, all else frozen (LoRA).
        across: sites that share the run, each with its nodes: "dallas:64,oregon:64".
        link: between two of them: "800 Gbit/s, 20 ms, 2:1".
        tables: CSV of embedding tables, placed on each size in place of even parts.
        table_set: set of tables, where the file has several.
        table_ways: how a table may be laid out: whole, columns, rows, copies; all.
        target_per_s: tokens or samples a second: the smallest size of each SKU that delivers them.
        tokens: the same from tokens to train on, with `by_h`.
        by_h: time to train them in, "90 d".
        measured: what you measured: "h100-8 x 64 nodes = 410000 tokens/s".
        calibration: the JSON of `calibrate`.
        engine: that serves; the newest.
        mix: trace whose requests come; azure-conversation.
        input_tokens: of requests of stated lengths: their mean prompt.
        output_tokens: and their mean answer.
        alike: whether all answers are of that length; else they spread around it like exponential ones.
        audio_s: sound of a request to a model of speech, "10 min"; one window.
        ttft_s: time to the first token, "1 s".
        tpot_s: time for each further token, "100 ms".
        quantile_fraction: share of requests in time; 0.9.
        response_s: time to the whole answer of scores and images, "100 ms": what one unit takes within it.
        items: samples or images of a request, with `response_s`; 1.
        requests_per_s: counts replicas for a demand.
        availability_fraction: share of time in which enough replicas are up; 0.999.
        disaggregated: whether some replicas read prompts and others write answers.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the question is wrong; the error holds every problem.
    """
    from planner.answers.throughput import Question, across_document, question_of, throughput_document
    from planner.notebook.other_answers import across_made, throughput_made

    said = given_in_python(locals(), Question) | {"model": str(model), "serve": serve}
    question = question_of(said)
    if question.across or question.link:
        return across_made(across_document(question))
    return throughput_made(throughput_document(question))


@in_python
def trace(*files: str | Path, represent: int | None = None) -> Answer:
    """What execution traces say of a step: `everfleet trace`.

    >>> ef.trace("data/samples/chakra_small.0.json")["ranks"][0]["communication_s"].explain().unit
    's'

    Args:
        files: Kineto, PyTorch or Chakra (JSON or protobuf), gzip or not; one a rank.
        represent: how many traces are to stand for all.

    Raises:
        InputError: a file is no trace, or there are too few.
    """
    from planner.answers.traces import traces_document
    from planner.notebook.other_answers import traces_made

    if not files:
        raise InputError("name an execution trace, one a rank")
    return traces_made(traces_document([Path(name) for name in files], represent))


@in_python
def place(
    tables: str | Path,
    *,
    model: str = "",
    reuse: str | Path | None = None,
    dataset: str = "",
    sku: str = "h100-8",
    nodes: int | Iterable[int] = (),
    batch: int = 65_536,
    train: bool = False,
    tiers: str | Iterable[str] = (),
    ways: str | Iterable[str] = (),
    aim: str = "time",
    within_s: Quantity | None = None,
    time_limit_s: Quantity = 5.0,
    data: str | Path | None = None,
) -> Answer:
    """Where embedding tables lie on nodes: `everfleet place`.

    >>> found = ef.place("criteo_tables.csv", model="mlperf_dlrm_dcnv2_multihot", nodes=1)
    >>> [(int(row["accelerators"]), row["fits"]) for row in found["sizes"]]
    [(8, True)]
    >>> found["devices"][0]["device_s"].explain().unit
    's'

    Args:
        tables: CSV with table, rows, dim, pooling, and bytes_per_param where it is not 4.
        model: set of tables, where the file has several.
        reuse: CSV of how often rows are read; without it each row is read alike.
        dataset: histogram, where that file has several.
        sku: kind of node.
        nodes: sizes to look at; 1 to 4.
        batch: samples of a step, over all devices.
        train: whether rows are updated and gradients sent back.
        tiers: memories that may hold tables: hbm, host, ssd; all of them.
        ways: how a table may be laid out: whole, columns, rows, copies; all of them.
        aim: time, for the least of a step; nodes, for the fewest.
        within_s: longest that look-up and exchange may take, "2 ms".
        time_limit_s: of the search, for each size.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the question or a file is wrong; the message has every problem.
    """
    from planner.answers.placement import placement_document
    from planner.inputs.placement_question import PlacementQuestion
    from planner.inputs.question_fields import with_times
    from planner.notebook.other_answers import placement_made

    said = given_in_python(locals(), PlacementQuestion)
    question = PlacementQuestion(**with_times(PlacementQuestion, said))
    return placement_made(placement_document(Path(tables), question))


@in_python
def calibrate(
    *files: str | Path,
    sizes: int | Iterable[int] = (),
    measure: bool = False,
    sku: str = "",
    model: str = "",
    precision: str = "",
    engine: str = "",
    accelerators: int | None = None,
    batch: float | None = None,
    input_tokens: float | None = None,
    output_tokens: float | None = None,
    output_scv: float | None = None,
    layout: str = "",
    batch_sequences: int | None = None,
    sequence_tokens: int | None = None,
    at: str = "",
    data: str | Path | None = None,
) -> Answer:
    """Your measurements: what they change, and how wrong the rest may be: `everfleet calibrate`.

    >>> ef.calibrate("data/samples/measurements.csv")["facts"][0]["key"]
    'accelerator.h100-sxm-80gb.matrix_efficiency'

    Args:
        files: CSV of tokens a second, step times or power; results of InferenceX, GuideLLM, AIPerf,
            GenAI-Perf, `bench serve` and MLPerf Inference; or execution traces of a run, one a rank.
        sizes: accelerators to show; a half, 1, 2 and 4 times yours.
        measure: whether to probe this machine's NVIDIA device instead.
        sku: the node that served or trained, where a file does not say it; so are those below.
        model: of the catalogue, or its config.json.
        precision: number format of the weights.
        engine: that served; the newest.
        accelerators: those of one replica, or of the whole run that was traced.
        batch: requests that run on average.
        input_tokens: mean prompt.
        output_tokens: mean answer.
        output_scv: squared spread of answers; 1.
        layout: how the traced run was split: 'tp=8,pp=4'.
        batch_sequences: of a step of the traced run.
        sequence_tokens: of each.
        at: other layouts of the first run, ranked: 'dp=16,batch=64; tp=4,pp=2,dp=8'; the rest as measured.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: a file is not understood, or there is nothing to measure.
    """
    from planner.answers.calibration import (
        NothingToMeasure,
        Stated,
        calibration_document,
        cuda_device,
        probe_document,
    )
    from planner.notebook.other_answers import calibration_made

    shown = counts(sizes, "sizes")
    if measure:
        if files or shown or at:
            raise InputError("--measure takes no measurements, --sizes or --at: it makes them")
        try:
            return calibration_made(probe_document(cuda_device(), date.today()))
        except NothingToMeasure as missing:
            raise InputError(str(missing)) from None
    if not files:
        raise InputError("name a CSV of measurements, results of a benchmark or traces, or state --measure")
    stated = Stated(**given_in_python(locals(), Stated))
    paths = [Path(name) for name in files]
    return calibration_made(calibration_document(paths, shown, stated=stated, layouts=at))
