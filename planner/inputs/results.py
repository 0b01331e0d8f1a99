"""Result files of serving benchmarks: which format, and the points that each holds.

A format is recognised by its keys. A point keeps what its file says, by the names that the file uses; what a
file does not say is None and comes from elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from planner.inputs.files import parse_json
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

MOST_POINTS = 20_000  # of one file; the largest published one has 1,500
LONGEST_NAME = 200
LEAST, MOST = 1e-12, 1e12  # of any time, rate, length or count that a benchmark measures
LEAST_LENGTHS = 2  # answers from which a spread follows
TIMES_S = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
RATES = ("tokens/sec", "tokens/s", "requests/sec", "requests/s", "tok/s", "req/s")
NO_DRAFTS = ("", "none", "off", "false")


@dataclass(frozen=True, slots=True)
class ResultPoint:
    """One measured replica as a file states it.

    `batch` is the mean number of requests that run; where `fills_memory` it is as many as fit.
    `lengths_are_longest` says that lengths were drawn evenly below the stated ones. A rate of `share_of`
    accelerators is that of all replicas on them together.
    """

    place: int
    source: str
    tokens_per_s: float
    hardware: str | None = None
    model: str | None = None
    precision: str | None = None
    engine: str | None = None
    accelerators: int | None = None
    groups: int | None = None
    batch: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    output_scv: float | None = None
    share_of: int | None = None
    fills_memory: bool = False
    lengths_are_longest: bool = False


@dataclass(frozen=True)
class ResultFile:
    """The points of a file, and why others of it say nothing here, by place."""

    format: str
    points: list[ResultPoint] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


class _Unusable(Exception):
    """Why a point says nothing of a replica's steps."""


def is_result(name: str, text: str) -> bool:
    """Whether a file is meant to be JSON rather than a table."""
    return name.casefold().endswith((".json", ".jsonl")) or text.lstrip()[:1] in ("{", "[")


def result_points(name: str, text: str) -> ResultFile:
    """The points of a result file.

    Raises:
        InputError: it is no JSON, or none of the formats known.
    """
    records = _records(name, text)
    for known in FORMATS:
        if all(known.shown_by(one) for one in records):
            return _read(name, known, records)
    keys = sorted({str(key)[:40] for one in records[:1] if isinstance(one, dict) for key in one})[:8]
    raise InputError(
        f"{name}: is none of the result files known ({', '.join(f.name for f in FORMATS)}): its keys are "
        f"{', '.join(keys) or 'none'}; write a CSV of measurements instead"
    )


def _records(name: str, text: str) -> list[Any]:
    """What a file holds: one document, a list of them, or one on each line."""
    try:
        found = parse_json(text)
    except ValueError as whole:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            found = [parse_json(line) for line in lines] if len(lines) > 1 else None
        except ValueError:
            found = None
        if found is None:
            raise InputError(f"{name}: cannot be read as JSON: {str(whole)[:200]}") from None
    records = found if isinstance(found, list) else [found]
    if not records:
        raise InputError(f"{name}: is an empty list: there is nothing measured in it")
    if len(records) > MOST_POINTS:
        raise InputError(
            f"{name}: holds {count_text(len(records))} records, and {count_text(MOST_POINTS)} are read: "
            "split it"
        )
    return records


def _read(name: str, known: _Format, records: Sequence[Any]) -> ResultFile:
    found = ResultFile(known.name)
    place, seen = 0, set[ResultPoint]()
    for one in records:
        for part in known.parts(one):
            place += 1
            if place > MOST_POINTS:
                raise InputError(f"{name}: holds more than {count_text(MOST_POINTS)} points: split it")
            try:
                point = known.point(place, part)
            except _Unusable as reason:
                found.left_out.append((place, str(reason)))
                continue
            run = replace(point, place=0)
            if run in seen:
                found.left_out.append((place, "it is the same run as an earlier point"))
            else:
                seen.add(run)
                found.points.append(point)
    return found


# ---- one value


def _at(one: Any, *path: str) -> Any:
    """What lies at a path of keys; None where a key is missing."""
    for key in path:
        one = one.get(key) if isinstance(one, Mapping) else None
    return one


def _positive(one: Any, *path: str) -> float | None:
    """A number above zero; None where there is none.

    Raises:
        _Unusable: what is there is no such number.
    """
    found = _at(one, *path)
    if found is None:
        return None
    try:
        number = float(found) if isinstance(found, int | float) and not isinstance(found, bool) else math.nan
    except OverflowError:
        number = math.nan
    if not LEAST < number < MOST:
        raise _Unusable(
            f"{'.'.join(path)} is {str(found)[:40]!r} and must be a number above 0, and one that can be"
        )
    return number


def _needed(one: Any, *path: str) -> float:
    found = _positive(one, *path)
    if found is None:
        raise _Unusable(f"{'.'.join(path)} is missing")
    return found


def _count(one: Any, *path: str) -> int | None:
    found = _positive(one, *path)
    if found is not None and (found != int(found) or found > 1e6):
        raise _Unusable(f"{'.'.join(path)} is {found:g} and must be a whole number of at most 1,000,000")
    return None if found is None else int(found)


def _text(one: Any, *path: str) -> str | None:
    """A name; the only one of a list of names; None where there is none."""
    found = _at(one, *path)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, str) or not found.strip():
        return None
    return found.strip()[:LONGEST_NAME]


def _running(tokens_per_s: float, per_token_s: float | None) -> float | None:
    """Requests that run, by Little's law from the mean time between two tokens of one."""
    if per_token_s is None:
        return None
    running = tokens_per_s * per_token_s
    if not LEAST < running < MOST:
        raise _Unusable(f"{tokens_per_s:g} tokens/s with {per_token_s:g} s between tokens cannot be")
    return running


def _spread(variance: float | None, mean: float | None) -> float | None:
    """Squared coefficient of variation of the answers."""
    if variance is None or mean is None:
        return None
    spread = variance / mean**2
    return spread if math.isfinite(spread) else None


# ---- InferenceX


def _is_inferencex(one: Any) -> bool:
    return isinstance(one, Mapping) and {"hw", "conc", "tput_per_gpu"} <= one.keys()


def _inferencex(place: int, one: Any) -> ResultPoint:
    """A line of InferenceX (InferenceMAX): one server, or pools that read and write apart."""
    if _at(one, "disagg") is True or _at(one, "is_multinode") is True:
        raise _Unusable("prompts are read and answers written on several servers, which is not one replica")
    if (_text(one, "spec_decoding") or "").casefold() not in NO_DRAFTS:
        raise _Unusable("tokens are drafted (speculative decoding), which steps here do not do")
    for key in ("pp", "pcp_size", "dcp_size"):
        if (_count(one, key) or 1) > 1:
            raise _Unusable(
                f"{key} is {_count(one, key)}: replicas here have no pipeline and no context parts"
            )
    accelerators = _count(one, "tp")
    if accelerators is None:
        raise _Unusable("tp is missing")
    prompt, answer = _needed(one, "isl"), _needed(one, "osl")
    written = _positive(one, "output_tput_per_gpu")
    if written is None:
        written = _needed(one, "tput_per_gpu") * answer / (prompt + answer)
    rate = written * accelerators
    token_s = _positive(one, "mean_tpot")
    if token_s is None and (per_user := _positive(one, "mean_intvty")) is not None:
        token_s = 1.0 / per_user
    apart = str(_at(one, "dp_attention")).casefold() == "true"
    return ResultPoint(
        place,
        _says("InferenceX", _text(one, "framework"), _text(one, "image")),
        rate,
        hardware=_text(one, "hw"),
        model=_text(one, "model") or _text(one, "infmax_model_prefix"),
        precision=_text(one, "precision"),
        engine=_text(one, "framework"),
        accelerators=accelerators,
        groups=accelerators if apart else 1,
        batch=_running(rate, token_s) or _needed(one, "conc"),
        input_tokens=prompt,
        output_tokens=answer,
        lengths_are_longest=True,
    )


# ---- `bench serve` of vLLM and SGLang


def _is_bench_serve(one: Any) -> bool:
    needed = {"request_throughput", "output_throughput", "total_input_tokens", "total_output_tokens"}
    return isinstance(one, Mapping) and needed <= one.keys()


def _bench_serve(place: int, one: Any) -> ResultPoint:
    if _at(one, "spec_decode_acceptance_length") is not None:
        raise _Unusable("tokens are drafted (speculative decoding), which steps here do not do")
    rate, served = _needed(one, "output_throughput"), _needed(one, "completed")
    per_token_ms = _positive(one, "mean_tpot_ms")
    running = _running(rate, None if per_token_ms is None else per_token_ms / 1e3)
    return ResultPoint(
        place,
        _says("bench serve", _text(one, "backend"), _text(one, "date")),
        rate,
        model=_text(one, "model_id"),
        engine=_text(one, "backend"),
        accelerators=_metadata_count(one, ("tensor_parallel_size", "tp")),
        batch=running or _positive(one, "concurrency") or _positive(one, "max_concurrency"),
        input_tokens=_needed(one, "total_input_tokens") / served,
        output_tokens=_needed(one, "total_output_tokens") / served,
        output_scv=_spread_of(_at(one, "output_lens")),
    )


def _metadata_count(one: Any, keys: Sequence[str]) -> int | None:
    """A count that the user may have added as text by `--metadata`."""
    for key in keys:
        found = _at(one, key)
        if isinstance(found, str) and re.fullmatch(r"[0-9]{1,4}", found):
            return int(found) or None
        if found is not None:
            return _count(one, key)
    return None


def _spread_of(lengths: Any) -> float | None:
    """Spread of answers where the length of each is in the file; those that failed have none."""
    if not isinstance(lengths, list):
        return None
    own = [x for x in lengths if isinstance(x, int) and not isinstance(x, bool) and 0 < x < 1e9]
    if len(own) < LEAST_LENGTHS:
        return None
    mean = sum(own) / len(own)
    return _spread(sum((x - mean) ** 2 for x in own) / len(own), mean)


# ---- GuideLLM


def _is_guidellm(one: Any) -> bool:
    runs = _at(one, "benchmarks")
    return isinstance(runs, list) and any(_at(run, "metrics", "requests_per_second") for run in runs)


def _guidellm_runs(one: Any) -> Iterator[tuple[Any, Any]]:
    for run in one["benchmarks"]:
        yield one, run


def _guidellm(place: int, both: tuple[Any, Any]) -> ResultPoint:
    """One run of a report, whose model lies below `config`, or in `args` of an older one."""
    report, run = both

    def mean(name: str) -> float | None:
        return _positive(run, "metrics", name, "successful", "mean")

    requests, answer = mean("requests_per_second"), mean("output_token_count")
    if requests is None or answer is None:
        raise _Unusable("metrics.requests_per_second or metrics.output_token_count has no successful mean")
    per_token_ms = mean("inter_token_latency_ms")
    variance = _at(run, "metrics", "output_token_count", "successful", "variance")
    plain = isinstance(variance, int | float) and not isinstance(variance, bool) and 0 <= variance < 1e18
    rate = requests * answer
    models = (
        _text(run, "config", "backend", "model"),
        _text(report, "config", "spec", "backend", "model"),
        _text(report, "args", "model"),
        _text(run, "args", "model"),
        _text(run, "worker", "backend_model"),
    )
    return ResultPoint(
        place,
        _says("GuideLLM", _text(report, "metadata", "guidellm_version")),
        rate,
        model=next((model for model in models if model), None),
        batch=_running(rate, None if per_token_ms is None else per_token_ms / 1e3)
        or mean("request_concurrency"),
        input_tokens=mean("prompt_token_count"),
        output_tokens=answer,
        output_scv=_spread(float(variance), answer) if plain else None,
    )


# ---- AIPerf and GenAI-Perf


def _is_aiperf(one: Any) -> bool:
    return isinstance(_at(one, "output_token_throughput"), Mapping) and isinstance(
        _at(one, "output_sequence_length"), Mapping
    )


def _aiperf(place: int, one: Any) -> ResultPoint:
    unit = _text(one, "output_token_throughput", "unit") or RATES[0]
    if unit not in RATES:
        raise _Unusable(f"output_token_throughput has the unit {unit[:40]!r}: tokens/sec is read")
    rate, answer = (
        _needed(one, "output_token_throughput", "avg"),
        _positive(one, "output_sequence_length", "avg"),
    )
    spread = _at(one, "output_sequence_length", "std")
    plain = isinstance(spread, int | float) and not isinstance(spread, bool) and 0 <= spread < 1e9
    config = _at(one, "input_config")
    concurrency = _positive(config, "loadgen", "concurrency") or _positive(
        config, "perf_analyzer", "stimulus", "concurrency"
    )
    return ResultPoint(
        place,
        _says("AIPerf or GenAI-Perf", _text(one, "start_time")),
        rate,
        model=_text(config, "endpoint", "model_names") or _text(config, "model_names"),
        batch=_running(rate, _unit_time_s(one, "inter_token_latency")) or concurrency,
        input_tokens=_positive(one, "input_sequence_length", "avg"),
        output_tokens=answer,
        output_scv=_spread(float(spread) ** 2, answer) if plain else None,
    )


def _unit_time_s(one: Any, name: str) -> float | None:
    """A mean time in the unit that stands next to it."""
    value = _positive(one, name, "avg")
    unit = _text(one, name, "unit") or "ms"
    if value is None:
        return None
    if unit not in TIMES_S:
        raise _Unusable(f"{name} has the unit {unit[:40]!r}: one of {', '.join(TIMES_S)} is read")
    return value * TIMES_S[unit]


# ---- MLPerf Inference


def _is_mlperf(one: Any) -> bool:
    return isinstance(one, Mapping) and {"Scenario", "Performance_Result", "Accelerator"} <= one.keys()


def _mlperf(place: int, one: Any) -> ResultPoint:
    """A row of `summary_results.json`: Offline holds as many requests as fit; other loads are not stated."""
    if _text(one, "Performance_Units") != "Tokens/s":
        raise _Unusable("it does not count tokens a second")
    if _text(one, "Scenario") != "Offline":
        raise _Unusable(f"how many requests ran in {_text(one, 'Scenario')} is not stated: Offline is read")
    if "," in (_text(one, "Accelerator") or ""):
        raise _Unusable("accelerators of several kinds ran together")
    each, nodes = _count(one, "a#"), _count(one, "Nodes")
    if each is None or nodes is None:
        raise _Unusable("a# or Nodes is missing: how many accelerators it took")
    said = re.search(r"TOKENS_PER_SAMPLE: ?([0-9]{1,6}(?:\.[0-9]{1,6})?)", _text(one, "Accuracy") or "")
    model = _text(one, "Model") or _text(one, "UsedModel") or ""
    software = (_text(one, "Software") or "").partition(" ")[0].rstrip(",")
    return ResultPoint(
        place,
        _says("MLPerf Inference", _text(one, "version"), _text(one, "ID"), _text(one, "Submitter")),
        _needed(one, "Performance_Result"),
        hardware=_text(one, "Accelerator"),
        model=model.removesuffix(".9") or None,  # the same runs are listed under two accuracies
        precision=_text(one, "weight_data_types"),
        engine=software or None,
        output_tokens=(float(said[1]) or None) if said else None,
        share_of=each * nodes,
        fills_memory=True,
    )


def _says(*parts: str | None) -> str:
    """Who measured it, in one line that prints."""
    said = ", ".join(part for part in parts if part)
    return "".join(sign if sign.isprintable() else "?" for sign in said)


def _whole(one: Any) -> Iterator[Any]:
    yield one


@dataclass(frozen=True)
class _Format:
    """A format: its name, what tells it, its parts, and how one part is a point."""

    name: str
    shown_by: Callable[[Any], bool]
    point: Callable[[int, Any], ResultPoint]
    parts: Callable[[Any], Iterator[Any]] = _whole


FORMATS = (
    _Format("InferenceX", _is_inferencex, _inferencex),
    _Format("MLPerf Inference summary_results", _is_mlperf, _mlperf),
    _Format("GuideLLM", _is_guidellm, _guidellm, _guidellm_runs),
    _Format("AIPerf or GenAI-Perf", _is_aiperf, _aiperf),
    _Format("bench serve of vLLM or SGLang", _is_bench_serve, _bench_serve),
)
