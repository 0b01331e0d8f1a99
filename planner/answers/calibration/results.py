"""Measurements from every file that is named: our own table, results of serving benchmarks, traces of a run.

What a result file does not say (its node, its number format) is said next to it, once for all of its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from planner.answers.calibration.reading import (
    Measurement,
    Problems,
    Served,
    file_text,
    nearest_names,
    read_measurements,
)
from planner.answers.calibration.serving import service_of
from planner.answers.calibration.traced import traced_measurement
from planner.inputs.aliases import accelerator_called, aliases, model_called
from planner.inputs.catalogue import Catalogue
from planner.inputs.execution_traces import is_trace
from planner.inputs.hardware_question import OF_RESULTS, OF_TRACES, Stated
from planner.inputs.results import ResultFile, ResultPoint, is_result, result_points
from planner.performance.calibrate_serving import uniform_mean, uniform_scv_ratio
from planner.physics.calibrated_serving import held_requests_of
from planner.physics.precisions import FORMATS
from planner.trace.errors import InputError
from planner.trace.records import Record

TABLE, TRACE = "table of measurements", "execution trace"
MOST_REASONS = 12  # that a refusal lists
PROMPTS = "benchmark.{}.input_tokens"  # of MLPerf's requests, which its files do not state
SHORTEST = "benchmark.inferencex.shortest_length"
UNKNOWN_SPREAD = 1.0  # of answers whose lengths nobody stated, as wherever only means are known


# Option -> what it says. Engine and spread have a value where nobody says one.
NEEDED = {
    "sku": "the node (--sku)",
    "model": "the model (--model)",
    "precision": "the number format of its weights (--precision)",
    "accelerators": "how many accelerators share it (--accelerators)",
    "batch": "how many requests run on average (--batch)",
    "input_tokens": "the mean prompt (--input-tokens)",
    "output_tokens": "the mean answer (--output-tokens)",
}


@dataclass
class Found:
    """All measurements of the files, what is wrong with other rows, and what each file was read as."""

    trained: list[Measurement] = field(default_factory=list)
    served: list[Served] = field(default_factory=list)
    problems: Problems = field(default_factory=list)
    files: list[Record] = field(default_factory=list)


def read_files(paths: Sequence[Path], catalogue: Catalogue, stated: Stated) -> Found:
    """The measurements of files.

    Raises:
        InputError: a file cannot be read, is of no known format, or lacks what nobody states.
    """
    found = Found()
    wrong = _wrong_names(stated, catalogue)
    tables, traces = 0, [path for path in paths if is_trace(path)]
    if traces:
        if wrong:
            raise InputError("\n".join(wrong))
        measured = traced_measurement(traces, catalogue, stated)
        found.trained.append(measured)
        found.files.append({"file": measured.file, "format": TRACE, "points": 1})
    elif given := stated.given(OF_TRACES):
        wrong.append(f"{', '.join(map(_option, given))}: none of the files is a trace")
    names = [path.name for path in paths]
    for path in paths:
        if path in traces:
            continue
        name = path.name if names.count(path.name) == 1 else str(path)
        text = file_text(path)
        if not is_result(name, text):
            trained, served, problems = read_measurements(name, text, catalogue)
            found.trained += trained
            found.served += served
            found.problems += problems
            found.files.append({"file": name, "format": TABLE, "points": len(trained) + len(served)})
            tables += 1
            continue
        results = result_points(name, text)
        served, left_out, missing = _completed(name, results, catalogue, stated)
        found.served += served
        wrong += missing
        found.files.append(
            {
                "file": name,
                "format": results.format,
                "points": len(served),
                "left_out": [*results.left_out, *left_out],
            }
        )
    if tables == len(paths) and stated.given(OF_RESULTS):
        wrong.append(
            f"{', '.join(map(_option, stated.given(OF_RESULTS)))}: a table of measurements says it itself"
        )
    if wrong:
        raise InputError("\n".join(wrong))
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _wrong_names(stated: Stated, catalogue: Catalogue) -> list[str]:
    known = {
        "sku": tuple(catalogue.skus),
        "model": catalogue.names("model", "layers"),
        "precision": tuple(FORMATS),
        "engine": tuple(catalogue.engines),
    }
    return [
        f"{_option(name)}: there is no {name} '{value[:64]}'{nearest_names(value, names)}"
        for name, names in known.items()
        if (value := getattr(stated, name)) and value not in names
    ]


def settled(found: Found) -> list[Record]:
    """What each file was read as, and what was left out of it, once every point was modelled.

    Points of result files that the model cannot explain are left out, as nobody can mend them there.

    Raises:
        InputError: a table has wrong rows, or no point of a result file is left.
    """
    results = {one["file"]: one for one in found.files if "left_out" in one}
    order = {one["file"]: place for place, one in enumerate(found.files)}
    said = []
    for file, line, what in sorted(found.problems, key=lambda problem: (order[problem[0]], problem)):
        if file in results:
            results[file]["left_out"].append((line, what))
            results[file]["points"] -= 1
        else:
            said.append(f"{file}: line {line}: {what}" if line else f"{file}: {what}")
    said += [
        _nothing(name, one["format"], one["left_out"]) for name, one in results.items() if not one["points"]
    ]
    if said:
        raise InputError("\n".join(said))
    return [
        one | {"left_out": _by_reason(one["left_out"])} if "left_out" in one else one for one in found.files
    ]


def _by_reason(left_out: Sequence[tuple[int, str]]) -> list[Record]:
    """Reasons with the points that they left out, the most frequent first."""
    places: dict[str, list[int]] = {}
    for place, reason in left_out:
        places.setdefault(reason, []).append(place)
    return [
        {"reason": reason, "points": sorted(own)}
        for reason, own in sorted(places.items(), key=lambda item: -len(item[1]))
    ]


def _completed(
    file: str, results: ResultFile, catalogue: Catalogue, stated: Stated
) -> tuple[list[Served], list[tuple[int, str]], list[str]]:
    """Whole points of a file, why others are left out, and what the file lacks where none is whole."""
    if not results.points:
        return [], [], [_nothing(file, results.format, results.left_out)]
    points = [_with_prompts(point, catalogue) for point in results.points]
    known = [_known(point, catalogue) for point in points]
    wrong = _contradictions(file, points, known, stated)
    served: list[Served] = []
    left_out: list[tuple[int, str]] = []
    lacking: list[tuple[ResultPoint, list[str]]] = []
    for point, names in zip(points, known, strict=True):
        values = _filled(point, names, points, stated)
        missing = [
            name for name in NEEDED if values[name] is None and not (name == "batch" and point.fills_memory)
        ]
        if missing:
            lacking.append((point, missing))
            left_out.append((point.place, _lacks(point, missing)))
            continue
        try:
            served.append(_served(file, point, values, catalogue))
        except ValueError as error:
            left_out.append((point.place, str(error)))
    if served or wrong:
        return served, left_out, wrong
    if lacking:
        return [], left_out, [_lacking(file, results.format, lacking)]
    return [], left_out, [_nothing(file, results.format, [*results.left_out, *left_out])]


def _lacking(file: str, format_: str, lacking: Sequence[tuple[ResultPoint, list[str]]]) -> str:
    """All that the points lack which lack least, and the names there that the catalogue does not know."""
    least = min(len(missing) for _, missing in lacking)
    nearest = [(point, missing) for point, missing in lacking if len(missing) == least]
    listed = ", ".join(what for name, what in NEEDED.items() if any(name in own for _, own in nearest))
    unknown = {name for point, own in nearest for name in _unknown(point, own).values()}
    more = f" (not in the catalogue: {', '.join(sorted(unknown)[:MOST_REASONS])})" if unknown else ""
    return f"{file}: is read as {format_}, and lacks {listed}{more}"


def _unknown(point: ResultPoint, missing: Sequence[str]) -> dict[str, str]:
    """Names that a point has and the catalogue does not know, by what they name."""
    said = {name: getattr(point, SAID[name]) for name in missing if name in SAID}
    return {name: f"{SAID[name]} '{own[:64]}'" for name, own in said.items() if own}


def _with_prompts(point: ResultPoint, catalogue: Catalogue) -> ResultPoint:
    """A point of MLPerf with the mean prompt of its benchmark, where the catalogue has it."""
    key = PROMPTS.format(point.model)
    if point.input_tokens is not None or not point.fills_memory or not catalogue.has(key):
        return point
    return replace(point, input_tokens=float(catalogue.fact(key).value))


def _nothing(file: str, format_: str, left_out: Sequence[tuple[int, str]]) -> str:
    reasons = _by_reason(left_out)
    listed = "; ".join(f"{len(one['points'])}: {one['reason']}" for one in reasons[:MOST_REASONS])
    more = f"; and {len(reasons) - MOST_REASONS} more reasons" if len(reasons) > MOST_REASONS else ""
    return f"{file}: is read as {format_}, and no point of it can be used: {listed or 'it has none'}{more}"


def _known(point: ResultPoint, catalogue: Catalogue) -> dict[str, str | None]:
    """Names of the catalogue for those of a point; None where it has none, or one that is not known."""
    chip = accelerator_called(point.hardware, catalogue) if point.hardware else None
    nodes = [sku for sku in catalogue.skus.values() if sku.accelerator == chip]
    node = min(nodes, key=lambda sku: sku.announced, default=None)
    return {
        "sku": node.name if node else None,
        "model": model_called(point.model, catalogue) if point.model else None,
        "precision": _precision(point, chip),
        "engine": _engine(point, catalogue),
    }


def _precision(point: ResultPoint, chip: str | None) -> str | None:
    if not point.precision:
        return None
    said = point.precision.casefold()
    # Which four-bit blocks: the model's name says it, or the maker's own.
    if said == "fp4" and ("mxfp4" in (point.model or "").casefold() or (chip or "").startswith("mi")):
        said = "mxfp4"
    found = str(aliases("result_precision").get(said, said))
    return found if found in FORMATS else None


def _engine(point: ResultPoint, catalogue: Catalogue) -> str | None:
    found = aliases("result_engine").get((point.engine or "").casefold())
    return str(found) if found in catalogue.engines else None


SAID = {"sku": "hardware", "model": "model", "precision": "precision", "engine": "engine"}


def _filled(
    point: ResultPoint, names: dict[str, str | None], points: Sequence[ResultPoint], stated: Stated
) -> dict[str, Any]:
    """What is known of a point, and what is stated next to the file; None where it is neither.

    A name that the catalogue does not know is the stated one only where the file speaks of no other.
    """
    values: dict[str, Any] = {}
    for name, found in names.items():
        said = {getattr(one, SAID[name]) for one in points}
        values[name] = found or ((getattr(stated, name) or None) if len(said) == 1 else None)
    for name in ("accelerators", "batch", "input_tokens", "output_tokens", "output_scv"):
        own = getattr(point, name)
        values[name] = getattr(stated, name) if own is None else own
    return values


def _contradictions(
    file: str, points: Sequence[ResultPoint], known: Sequence[dict[str, str | None]], stated: Stated
) -> list[str]:
    """What is stated next to a file that says otherwise."""
    wrong = []
    for name in stated.given(OF_RESULTS):
        for point, names in zip(points, known, strict=True):
            own = names[name] if name in names else getattr(point, name)
            if own is not None and own != getattr(stated, name):
                wrong.append(
                    f"{_option(name)} {getattr(stated, name)}: {file} says {str(own)[:64]} (point "
                    f"{point.place}): leave it out, or read that file alone"
                )
                break
    return wrong


def _lacks(point: ResultPoint, missing: Sequence[str]) -> str:
    """What keeps a point from use."""
    unknown = _unknown(point, missing)
    return "; ".join(
        f"{unknown[name]} is not in the catalogue"
        if name in unknown
        else f"it does not say {NEEDED[name].partition(' (')[0]}"
        for name in missing
    )


def _served(file: str, point: ResultPoint, values: dict[str, Any], catalogue: Catalogue) -> Served:
    """A whole point.

    Raises:
        ValueError: the model does not run so.
    """
    prompt, answer, spread = values["input_tokens"], values["output_tokens"], values["output_scv"]
    if point.lengths_are_longest:
        shortest = catalogue.fact(SHORTEST).value
        prompt, answer = (uniform_mean(longest=x, shortest_fraction=shortest) for x in (prompt, answer))
        spread = uniform_scv_ratio(shortest_fraction=shortest)
    share = values["accelerators"] / point.share_of if point.share_of else 1.0
    if share > 1.0:
        raise ValueError(f"{values['accelerators']} accelerators of a replica are more than it ran on")
    one = Served(
        file,
        point.place,
        catalogue.skus[values["sku"]],
        values["model"],
        values["precision"],
        values["accelerators"],
        values["batch"] or 0.0,
        prompt,
        answer,
        UNKNOWN_SPREAD if spread is None else spread,
        point.tokens_per_s * share,
        f"{point.source} ({file})",
        values["engine"] or catalogue.default_engine,
        point.groups,
    )
    if one.batch:
        return one
    return replace(one, batch=held_requests_of(service_of(one, catalogue), one.accelerators, one.groups))
