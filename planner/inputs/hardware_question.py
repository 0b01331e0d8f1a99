"""What is asked of hardware, stated once: `everfleet throughput`, `ef.throughput` and the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner.inputs.question_fields import fields_of, question_field

TEXT, VISION = "train-text", "train-vision"
RECOMMEND, ANSWERS = "train-recommendation", "serve-text"
DRAW = "train-images"
SCORE, GENERATE = "serve-recommendation", "serve-images"
LOOK, HEAR = "serve-vision", "serve-speech"
WRITTEN = (ANSWERS, HEAR)  # token by token
WHOLE = (SCORE, GENERATE, LOOK)  # answered as a whole
_SIZED = (TEXT, VISION, RECOMMEND, DRAW, *WHOLE)
_MADE = (VISION, RECOMMEND, DRAW, *WHOLE)
OF_RESULTS = "of result files that do not say it"
OF_TRACES = "of traces, with the node, the model, its precision and all accelerators"
_MEASURED = (TEXT, VISION, *WRITTEN)


@dataclass(frozen=True, slots=True)
class Question:
    """A model, what is done with it, and where; what is None takes the catalogue's default."""

    model: str
    serve: bool = False
    precision: str = question_field(
        "bf16, fp16, fp8, mxfp8, nvfp4, mxfp4 and so on", "bf16", label="Precision"
    )
    skus: tuple[str, ...] = question_field(
        "default: all", (), reads="names", option="--sku", value="SKU,...", label="Chips; none is all"
    )
    nodes: tuple[int, ...] = question_field(
        "sizes to look at; 1,2,4 to 128", (), reads="counts", value="N,...", kinds=_SIZED
    )
    grid: str | None = question_field(
        "grid region, for money and carbon of a million tokens", usual="us", label="Grid region"
    )
    why: str = question_field("open the numbers of one row down to their sources", "", value="SKU:SIZE")

    sequence_tokens: int | None = question_field(
        "8192", reads="count", option="--sequence", value="TOKENS", group="training", kinds=(TEXT,)
    )
    batch_tokens: float | None = question_field(
        "tokens of a step", reads="number", value="TOKENS", group="training", kinds=(TEXT,)
    )
    batch: int | None = question_field(
        "images or samples of a step, or made at once", reads="count", group="training", kinds=_MADE
    )
    image_pixels: int | None = question_field(
        "side; 224", reads="count", option="--image", value="PIXELS", group="training", kinds=(VISION,)
    )
    adapter_rank: int | None = question_field(
        "train adapters of this rank, all else frozen (LoRA)",
        reads="count",
        value="R",
        group="training",
        kinds=(TEXT,),
    )
    tables: Path | None = question_field(  # noqa: RUF009  # makes a field, as `field` does
        "CSV of embedding tables, placed on each size in place of even parts",
        reads="path",
        value="FILE",
        group="training",
        kinds=(RECOMMEND,),
    )
    table_set: str = question_field(
        "set of tables, where the file has several", "", value="NAME", group="training", kinds=(RECOMMEND,)
    )
    table_ways: tuple[str, ...] = question_field(
        "how a table may be laid out: whole, columns, rows, copies; all",
        (),
        reads="names",
        value="WAY,...",
        group="training",
        kinds=(RECOMMEND,),
    )
    target_per_s: float | None = question_field(
        "tokens or samples a second: the smallest size of each SKU that delivers them",
        reads="rate",
        option="--target",
        value="RATE",
        group="training",
        kinds=_SIZED,
    )
    tokens: float | None = question_field(
        "the same from tokens to train on, with --by",
        reads="number",
        group="training",
        kinds=(TEXT,),
        label="Tokens to train on",
        unit="billions",
        scale=1e9,
    )
    by_h: float | None = question_field(
        "time to train them in, '90 d'",
        reads="time",
        option="--by",
        value="TIME",
        group="training",
        label="To be trained in",
        unit="days",
        scale=24.0,
    )

    across: str = question_field(
        "sites that share the run, each with its nodes: 'dallas:64,oregon:64'; a site is a grid, a region or "
        "its city",
        "",
        value="SITE:NODES,...",
        group="training",
        kinds=(TEXT,),
    )
    link: str = question_field(
        "between two of them: bandwidth, latency one way, oversubscription: '800 Gbit/s, 20 ms, 2:1'",
        "",
        value="LINK",
        group="training",
        kinds=(TEXT,),
    )

    measured: str = question_field(
        "what you measured: 'h100-8 x 64 nodes = 410000 tokens/s'; with --serve "
        "'h100-8 tp4 = 2500 tokens/s at batch 64', or '= 25 ms at batch 64'",
        "",
        value="POINT",
        kinds=_MEASURED,
    )
    calibration: Path | None = question_field(  # noqa: RUF009  # makes a field, as `field` does
        "what `everfleet calibrate ... --json` printed", reads="path", value="FILE", kinds=_MEASURED
    )

    engine: str | None = question_field(
        "of `everfleet facts performance.engine.`; the newest", group="serving"
    )
    mix: str | None = question_field(
        "trace whose requests come",
        group="serving",
        kinds=(ANSWERS,),
        usual="azure-conversation",
        label="Requests as in",
    )
    input_tokens: float | None = question_field(
        "of stated lengths: their mean prompt", reads="number", value="N", group="serving", kinds=(ANSWERS,)
    )
    output_tokens: float | None = question_field(
        "and their mean answer", reads="number", value="N", group="serving", kinds=(ANSWERS,)
    )
    alike: bool = question_field(
        "all answers are of that length; else they spread around it like exponential ones",
        False,
        reads="flag",
        group="serving",
        kinds=(ANSWERS,),
    )
    audio_s: float | None = question_field(
        "sound of a request, '30 s'; one window",
        reads="time",
        option="--audio",
        label="Sound of a request",
        unit="s",
        value="TIME",
        group="serving",
        kinds=(HEAR,),
    )
    ttft_s: float | None = question_field(
        "time to the first token, '1 s'",
        reads="time",
        option="--ttft",
        label="First token within",
        unit="s",
        value="TIME",
        group="serving",
        kinds=WRITTEN,
    )
    tpot_s: float | None = question_field(
        "time for each further token, '100 ms'",
        reads="time",
        option="--tpot",
        label="Each further one",
        unit="ms",
        scale=1e-3,
        value="TIME",
        group="serving",
        kinds=WRITTEN,
    )
    quantile_fraction: float | None = question_field(
        "share in time; 0.9",
        reads="share",
        option="--quantile",
        value="FRACTION",
        group="serving",
        kinds=WRITTEN,
    )
    response_s: float | None = question_field(
        "time to the whole answer, '100 ms': what one unit takes within it",
        reads="time",
        option="--response-time",
        label="Whole answer within",
        unit="ms",
        scale=1e-3,
        value="TIME",
        group="serving",
        kinds=WHOLE,
    )
    items: float | None = question_field(
        "samples or images of a request, with --response-time; 1",
        reads="number",
        value="N",
        group="serving",
        kinds=WHOLE,
    )
    requests_per_s: float | None = question_field(
        "counts replicas",
        label="Requests a second",
        reads="rate",
        option="--requests-per-second",
        value="RATE",
        group="serving",
        kinds=WRITTEN,
    )
    availability_fraction: float | None = question_field(
        "share of time in which enough replicas are up; 0.999",
        reads="share",
        option="--availability",
        value="FRACTION",
        group="serving",
        kinds=WRITTEN,
    )
    disaggregated: bool = question_field(
        "prompts read by some replicas and answers written by others, of one SKU or of two",
        False,
        reads="flag",
        group="serving",
        kinds=(ANSWERS,),
    )

    @property
    def wants_target(self) -> bool:
        """Whether the smallest size that reaches a rate is requested."""
        return self.target_per_s is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class Stated:
    """What the asker says of result files and traces that do not say it; empty or None where nothing is."""

    sku: str = question_field("the node that served", "", group=OF_RESULTS)
    model: str = question_field("of `everfleet facts model.`, or its config.json", "", group=OF_RESULTS)
    precision: str = question_field(
        "number format of the weights: bf16, fp8, nvfp4, mxfp4", "", group=OF_RESULTS
    )
    engine: str = question_field("of `everfleet facts performance.engine.`; the newest", "", group=OF_RESULTS)
    accelerators: int | None = question_field(
        "those of one replica", reads="whole", value="N", group=OF_RESULTS
    )
    batch: float | None = question_field(
        "requests that run on average", reads="positive", value="N", group=OF_RESULTS
    )
    input_tokens: float | None = question_field("mean prompt", reads="positive", value="N", group=OF_RESULTS)
    output_tokens: float | None = question_field("mean answer", reads="positive", value="N", group=OF_RESULTS)
    output_scv: float | None = question_field(
        "squared spread of answers; 1", reads="not_negative", value="RATIO", group=OF_RESULTS
    )
    layout: str = question_field(
        "how the run was split: 'tp=8,pp=4,micro_batch=2', by the columns of a table of measurements",
        "",
        value="PART=N,...",
        group=OF_TRACES,
    )
    batch_sequences: int | None = question_field(
        "sequences of a step", reads="whole", value="N", group=OF_TRACES
    )
    sequence_tokens: int | None = question_field(
        "tokens of a sequence", reads="whole", value="N", group=OF_TRACES
    )

    def given(self, group: str = "") -> list[str]:
        """Options that say something, those of a group where one is named."""
        return [
            name
            for name, one in fields_of(Stated).items()
            if getattr(self, name) not in ("", None) and group in ("", one.group)
        ]
