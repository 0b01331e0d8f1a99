"""What `everfleet fit` found in a log of failures and `calibrate` in measurements, as facts of your own."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.inputs.catalogue import make_fact
from planner.inputs.files import parse_json, read_limited
from planner.trace.errors import InputError
from planner.trace.nesting import laid_out
from planner.trace.quantities import Fact, Source

# Constants of a training step that a trace gives; of chips without one the general fact says nothing.
TRACED = {"exchange_factor": "1", "fixed_time": "s"}
EXCHANGES = "performance.training.exchange_factor"
MOST_TRACED = 1e4  # times what is modelled, or seconds of a step
_OF_SERVING = ("performance.engine.", "performance.serving.rate_")


@dataclass(frozen=True, slots=True)
class FittedFleet:
    """What a log says of its fleet; what the log cannot say is None.

    The range of the rate is a 95 % interval. `variance_to_mean` is that of the nodes down at once among all
    `nodes` of the fleet. `rate_shape` says how sure the rate is, as the shape of a gamma belief.
    """

    name: str
    definition: str
    failure_rate: Fact
    accelerators_per_node: Fact | None
    repair: Fact | None
    variance_to_mean: Fact | None
    nodes: Fact | None
    rate_shape: Fact | None


def is_fit(failures: str) -> bool:
    """Whether the failures are a file rather than a name of the catalogue."""
    return failures.endswith(".json")


def no_fleet(failures: str, known: Collection[str], *, look: bool = True) -> str:
    """What is wrong with failures that are no fleet of the catalogue and no fit, and what to name instead.

    To `look` whether it is a log or a folder is for who asks on a machine of their own.
    """
    said, path = f"no fleet with failures '{failures}'", Path(failures)
    try:
        if look and (path / "fit.json").is_file():
            return f"{said}: name the fit in that folder, {path / 'fit.json'}"
        if look and path.is_file():
            return (
                f"{said}: a log is fitted first: everfleet fit {path} --out FOLDER, then name FOLDER/fit.json"
            )
    except (OSError, ValueError):  # no system takes it as a path
        pass
    near = difflib.get_close_matches(failures[:64], known, n=3)
    there = f"near: {', '.join(near)}" if near else f"there are: {', '.join(sorted(known))}"
    return f"{said}; {there}; or the fit.json of your own log (everfleet fit)"


def read_fit(path: Path) -> FittedFleet:
    """The fleet of a fit.json.

    Raises:
        InputError: the file cannot be read, is none of ours, or holds a number that cannot be.
    """
    try:
        found = parse_json(read_limited(path).decode("utf-8"))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read as a fit: {why}") from None
    return fit_of(found, str(path))


def fit_of(found: Any, name: str) -> FittedFleet:
    """The fleet of what a fit.json holds; `name` begins each message.

    Raises:
        InputError: it is none of ours, or holds a number that cannot be.
    """
    if not isinstance(found, Mapping) or "everfleet_fit" not in found:
        raise InputError(f"{name}: is not a fit: name a fit.json that `everfleet fit` wrote")
    if found["everfleet_fit"] != 1:
        raise InputError(f"{name}: is a fit of edition {found['everfleet_fit']}; only 1 is known here")
    try:
        return _fleet(found)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{name}: is not a whole fit: {what}") from None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What measurements of your own say of hardware, next to or in place of the catalogue's facts.

    `training_errors` are those of rates of other sizes, by accelerator, and what they rest on.
    """

    facts: tuple[Fact, ...]
    training_errors: Mapping[str, tuple[float, str]]


def factor_key(accelerator: str, model: str, precision: str) -> str:
    """How keys of measured serving factors begin; accelerators of the replica and batch follow."""
    return f"performance.serving.factor@{accelerator}:{model}:{precision}:"


def factor_fact(
    beginning: str, tp: int, batch: float, factor: float, error_fraction: float, source: Source, note: str
) -> Fact:
    """A measured serving factor; its range says how far off other batches may be."""
    return make_fact(
        f"{beginning}{tp}:{batch:.6g}",
        factor,
        "1",
        source,
        kind="measured",
        low=factor / (1.0 + error_fraction),
        high=factor * (1.0 + error_fraction),
        note=note,
    )


def traced_facts(accelerator: str, values: Mapping[str, float], source: Source) -> list[Fact]:
    """What a trace says of steps on an accelerator, by the names of `TRACED`."""
    found = [
        make_fact(f"performance.training.{name}@{accelerator}", values[name], unit, source, kind="measured")
        for name, unit in TRACED.items()
    ]
    return [*found, make_fact(EXCHANGES, 1.0, "1", source, note="exchanges as modelled, without a trace")]


def read_calibration(path: Path) -> Calibration:
    """The facts of a document that `everfleet calibrate MEASUREMENTS --json` wrote.

    Raises:
        InputError: the file cannot be read, or is none of ours.
    """
    wrong = InputError(
        f"{path}: is no calibration: write one by `everfleet calibrate MEASUREMENTS --json > {path.name}`"
    )
    try:
        found = parse_json(read_limited(path).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except InputError:
        raise
    except ValueError:
        raise wrong from None
    if not isinstance(found, dict) or found.get("everfleet_calibration") != 1:
        raise wrong
    try:
        source = Source("calibration", f"your calibration: {found['file']}", link=path.name)
        hardware = _hardware(found)
        facts = [fact for one in hardware for fact in _calibrated(one, source)]
        speeds = {one["accelerator"]: one["speed"]["expected_error"] for one in hardware if one["speed"]}
        errors = {chip: (_number("worst", own["worst"]), str(own["from"])) for chip, own in speeds.items()}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise wrong from None
    return Calibration(tuple(facts), errors)


def _hardware(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The accelerators of a calibration; one of before keeps them nested as they are."""
    if "hardware" in found:
        return list(found["hardware"])
    return list(laid_out(found["layout"]["hardware"], "hardware", found["tables"]))


def _calibrated(found: Mapping[str, Any], source: Source) -> Iterator[Fact]:
    """Facts of one accelerator: training, rating, constants and factors of serving."""
    for part, name, unit in (("speed", "after", "1"), ("power", "after_kw", "kW")):
        if found[part]:
            key, value = str(found[part]["key"]), _number(name, found[part][name])
            if not key.startswith(f"accelerator.{found['accelerator']}.") or not value > 0:
                raise ValueError(f"{key} = {value} is none of its facts")
            yield make_fact(key, value, unit, source, kind="measured")
    if traced := found.get("traced"):
        values = {str(one["name"]): _number(str(one["name"]), one["value"]) for one in traced["constants"]}
        if not all(0 <= value < MOST_TRACED for value in values.values()):
            raise ValueError(f"a constant of a trace is below 0, or not below {MOST_TRACED:g}")
        yield from traced_facts(str(found["accelerator"]), values, source)
    for one in (found.get("constants") or {}).get("facts", ()):
        yield _constant(one, str(found["accelerator"]), source)
    for one in found.get("serving", ()):
        for point in one["factors"]:
            yield factor_fact(
                factor_key(found["accelerator"], one["model"], one["precision"]),
                int(point["accelerators"]),
                _number("batch", point["batch"]),
                _number("factor", point["factor"]),
                _number("worst", one["expected_error"]["worst"]),
                source,
                str(point["source"]),
            )


def _constant(one: Mapping[str, Any], accelerator: str, source: Source) -> Fact:
    """A fitted constant of an accelerator, or of an engine on it."""
    key = str(one["key"])
    own = key.startswith(f"kernel.{accelerator}.")
    if not own and not (key.startswith(_OF_SERVING) and key.endswith(f"@{accelerator}")):
        raise ValueError(f"{key} is no constant of {accelerator}")
    value, low, high = (
        _number(f"{name} of {key}", one[name] if one[name] is not None else one["value"])
        for name in ("value", "low", "high")
    )
    if not value > 0 or not low >= 0 or (own and high > 1):
        raise ValueError(f"{key} = {low} .. {value} .. {high} cannot be")
    return make_fact(
        key, value, str(one["unit"]), source, kind="measured", low=low, high=high, note=str(one["note"])
    )


def _fleet(found: Mapping[str, Any]) -> FittedFleet:
    name, log = str(found["name"]), Source("fit", f"fit of the log '{found['source']}'")
    rate, outage = found["rate"], found.get("outage") or {}

    def own(key: str, value: Any, unit: str, low: Any = None, high: Any = None) -> Fact | None:
        if value is None:
            return None
        value = _number(key, value)
        if not value > 0:
            raise ValueError(f"{key} must be above 0, got {value}")
        low, high = (None if end is None else _number(f"an end of {key}", end) for end in (low, high))
        return make_fact(f"fit.{name}.{key}", value, unit, log, locator=key, low=low, high=high)

    failure_rate = own("failure_rate", rate["value"], rate["unit"], low=rate["low"], high=rate["high"])
    if failure_rate is None:
        raise ValueError("failure_rate is empty")
    if failure_rate.unit != "1/h":
        raise ValueError(f"failure_rate must be a rate such as '1/(1000 node d)', got '{rate['unit']}'")
    return FittedFleet(
        name=name,
        definition=str(found.get("definition", "")),
        failure_rate=failure_rate,
        accelerators_per_node=own("accelerators_per_node", found.get("accelerators_per_node"), "1"),
        repair=own("repair", outage.get("mean_h"), "h"),
        variance_to_mean=own("variance_to_mean", found.get("variance_to_mean"), "1"),
        nodes=own("nodes", found.get("nodes"), "1"),
        rate_shape=own("rate_shape", found.get("rate_shape"), "1"),
    )


def _number(key: str, value: Any) -> float:
    """A finite number; JSON as Python reads it may hold NaN and Infinity, too."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{key} must be a finite number, got {value!r}")
    return float(value)
