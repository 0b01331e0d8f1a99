"""Damaged files for every reader: what is refused, what crashes, what hangs, and how much memory it takes.

    python -m benchmarks.studies.fuzz_readers --inputs 100000 --seed 1 --table table.md

Valid samples are damaged at random: bytes, cells, lines, columns, numbers, keys, encodings, packing. Each
input is read in process under an alarm. A reader may answer or raise the product's own errors; all else is a
crash. The same seed makes the same inputs for a reader, whatever the other readers do.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import lzma
import multiprocessing
import random
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOGS, METERED, DATA = ROOT / "tests" / "logs", ROOT / "tests" / "metered", ROOT / "data"
LIMIT_S = 10.0  # an input of some kilobytes that takes longer hangs
MOST_MEMORY_BYTES = 6 * 2**30  # of one reader, so that a bomb stops the study and not the machine
LONGEST_MESSAGE = 5_000  # characters: what is above quotes the file at the user
MOST_LINES = 120  # of a sample: damage matters, length does not

# A fifth of the inputs also gets one of these in the place of a number, a cell or a value.
NUMBERS = (
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "0",
    "-0",
    "-1",
    "0.0",
    "9" * 400,
    "-" + "9" * 400,
    "1" + "0" * 30,
    "9223372036854775808",
    "2147483648",
    "1,5",
    "1_000",
    "٣",
    "0x10",
    "1e5",
    "-5",
    "1e12",
    "1e-12",
    "",
)
TEXTS = (
    "",
    " ",
    '"',
    "'",
    "\\",
    "*",
    "--",
    ";",
    "%s",
    "{}",
    "$",
    "null",
    "None",
    "true",
    "\x00",
    "\u202e",
    "entry_h",
    "age_h",
    "unit",
    "line",
    "cells",
    "a.b",
    'a"b',
    "'; DROP TABLE records; --",
    "../../etc/passwd",
    "=1+1",
    "é" * 50,
    "x" * 300,
    "y" * 140_000,
    "(" * 200,
    "1/" * 400 + "h",
    "[" * 3_000,
    "node[1-99999999]",
    "-2025-01-02T00:00:00Z",
    "99999-01-01",
    "0000-00-00",
    "9999-12-31T23:59:59Z",
    "294247-01-10",
    "2025-13-45",
    "2025-02-30T25:61:61",
    "1e18",
    "12:00",
    "2025-01-01T00:00:00+99:99",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    10**400,
    -(10**400),
    10**18,
    0.5,
    1e308,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    "",
    "x" * 200_000,
    [],
    {},
    [[]],
    [1, 2],
    {"a": 1},
    {"": ""},
    "1e5",
    "NaN",
    "5 kW",
    "-5 kg",
)
KEYS = ('a"b', "", "*", "a.b", "$", "x" * 1_000, "entry_h", "age_h", "'", "\\", "unit", "ключ", "line")

Change = Callable[[random.Random, bytes], bytes]


def _bytes_flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes) -> bytes:
    first, last = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return rng.choice((data[:last], data[first:], data[:first] + data[last:]))


def _repeated(rng: random.Random, data: bytes) -> bytes:
    first, last = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:last] + data[first:last] * rng.choice((1, 2, 20)) + data[last:]


def _inserted(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    lump = rng.choice(
        (
            b"\x00",
            b"\xff\xfe",
            b"\r",
            b"\n\n",
            b"\xef\xbb\xbf",
            b"[" * 2_000,
            b'{"a":' * 2_000,
            b"a," * 5_000,
            b"x" * 140_000,
            b"9" * 500,
            b'"',
            b"\xf0\x9f\x92\xa5",
            b"\x1a",
            b"\x85",
        )
    )
    return data[:place] + lump + data[place:]


def _lines_changed(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 1:
        lines.insert(one, lines[other])
    elif how == 2:
        del lines[one]
    else:
        lines = lines[:1] + rng.sample(lines[1:], len(lines) - 1)
    return b"\n".join(lines)


def _word_replaced(rng: random.Random, data: bytes) -> bytes:
    """A number, a word or a cell becomes something that nobody writes."""
    text = data.decode("utf-8", "replace")
    places = [i for i, letter in enumerate(text) if letter in ',|;\t\n "=:']
    if not places:
        return data
    place = rng.randrange(len(places))
    first = places[place] + 1
    last = places[place + 1] if place + 1 < len(places) else len(text)
    word = rng.choice(rng.choice((NUMBERS, TEXTS)))
    if rng.random() < 0.3:  # the same in every line that holds that cell
        return text.replace(text[first:last], word, 50).encode() if text[first:last] else data
    return (text[:first] + word + text[last:]).encode()


def _columns_changed(rng: random.Random, data: bytes) -> bytes:
    """Two columns change places, one is dropped or doubled, or gets one value in every row."""
    lines = data.decode("utf-8", "replace").split("\n")
    mark = max(",|;\t", key=lines[0].count)
    rows = [line.split(mark) for line in lines]
    width = len(rows[0])
    one, other, how = rng.randrange(width), rng.randrange(width), rng.randrange(6)
    value, name = rng.choice(rng.choice((NUMBERS, TEXTS))), rng.choice(KEYS)
    for i, row in enumerate(rows):
        if max(one, other) >= len(row):
            continue
        if how == 0:
            row[one], row[other] = row[other], row[one]
        elif how == 1:
            del row[one]
        elif how == 2:
            row.insert(one, row[other])
        elif how == 3 and i:
            row[one] = value
        elif how == 4 and not i:
            row[one] = name
        elif how == 5:
            row.append(value if i else name)
    return "\n".join(mark.join(row) for row in rows).encode()


def _encoded(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace") + rng.choice(("", "é", "東京", "\u2028"))
    coding = rng.choice(("utf-16", "utf-16-le", "latin-1", "utf-8-sig", "utf-32", "cp037"))
    return text.encode(coding, "replace")


def _separated(rng: random.Random, data: bytes) -> bytes:
    mark = max((b",", b"|", b";", b"\t"), key=data.count)
    changed = data.replace(mark, rng.choice((b",", b";", b"\t", b"|", b", ", b"\x01")))
    return changed.replace(b"\n", rng.choice((b"\n", b"\r\n", b"\r")))


def _packed(rng: random.Random, data: bytes) -> bytes:
    packed = rng.choice((gzip.compress, lzma.compress))(data)
    return rng.choice((packed, packed[: len(packed) // 2], packed + b"x", packed[:20], packed + packed))


def _value_replaced(rng: random.Random, data: bytes) -> bytes:
    """Of JSON: a value or a key becomes another, or a list or table is nested, doubled or emptied."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _word_replaced(rng, data)
    holders = list(_holders(document))
    if not holders:
        return data
    for _ in range(rng.choice((1, 1, 1, 3))):
        holder, key = rng.choice(holders)
        if isinstance(holder, dict) and key not in holder:
            continue
        how = rng.randrange(8)
        if how == 0 and isinstance(holder, dict):
            holder[rng.choice(KEYS)] = holder.pop(key)
        elif how == 1 and isinstance(holder, dict):
            holder[rng.choice(KEYS)] = rng.choice(VALUES)
        elif how == 2 and isinstance(holder, dict):
            del holder[key]
        elif how == 3:
            holder[key] = [holder[key]] * rng.choice((1, 3))
        elif how == 4:
            holder[key] = {"a": holder[key]}
        elif how == 5 and isinstance(holder[key], int | float) and abs(holder[key]) < 1e300:
            holder[key] = holder[key] * rng.choice((-1, 0, 1e-12, 1e12, 1e300, 10**30))
        else:
            holder[key] = rng.choice(VALUES)
    whole = json.dumps(document)
    if rng.random() < 0.03:
        whole = rng.choice(('{"a":', "[")) * 100_000 + whole
    return whole.encode()


def _holders(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Each place of a document: its list or table, and where in it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield value, key
        if depth < 6:
            yield from _holders(inner, depth + 1)


ANY: tuple[Change, ...] = (_bytes_flipped, _cut, _repeated, _inserted, _lines_changed, _encoded)
TABLE: tuple[Change, ...] = (*ANY, *[_word_replaced] * 6, *[_columns_changed] * 5, _separated)
LOG: tuple[Change, ...] = (*TABLE, _packed)
TOML: tuple[Change, ...] = (*ANY, *[_word_replaced] * 10)
JSON: tuple[Change, ...] = (*ANY, *[_value_replaced] * 12)


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a file: its samples with the name of each, how they are damaged, and its share of inputs."""

    samples: Callable[[], Sequence[tuple[str, bytes]]]
    changes: tuple[Change, ...]
    read: Callable[[Path], object]
    share: float


@dataclass
class Counted:
    """How the inputs of one reader ended."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    crashes: int = 0
    hangs: int = 0
    warned: int = 0
    longest_message: int = 0
    slowest_s: float = 0.0
    peak_mb: float = 0.0
    where: collections.Counter[str] = field(default_factory=collections.Counter)
    first: dict[str, int] = field(default_factory=dict)

    def found(self, number: int, where: str) -> None:
        """Note where an input failed, and the first that did."""
        self.where[where] += 1
        self.first.setdefault(where, number)


class Hang(BaseException):
    """The alarm rang: no reader catches this."""


def damaged(reader: Reader, name: str, seed: int, number: int) -> tuple[str, bytes]:
    """One input, the same for the same seed and number."""
    rng = random.Random(f"{name}-{seed}-{number}")
    sample, data = rng.choice(reader.samples())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(reader.changes)(rng, data) if data else data
    return sample, data


def fuzz(name: str, *, inputs: int, seed: int, limit_s: float = LIMIT_S) -> Counted:
    """Give a reader so many damaged inputs."""
    reader, counted = READERS[name], Counted()
    with tempfile.TemporaryDirectory(prefix="everfleet-fuzz-") as folder:
        sample, data = reader.samples()[0]
        Path(folder, sample).write_bytes(data)
        with suppress(ValueError):
            reader.read(Path(folder, sample))  # untimed: the first loads libraries
        for number in range(inputs):
            sample, data = damaged(reader, name, seed, number)
            path = Path(folder, sample)
            path.write_bytes(data)
            _read(reader, path, counted, number, limit_s)
    counted.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return counted


def _read(reader: Reader, path: Path, counted: Counted, number: int, limit_s: float) -> None:
    from planner.trace.errors import InputError
    from reliability.logs import LogError

    counted.inputs += 1
    start_s = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with _alarm(limit_s):
                reader.read(path)
            counted.read += 1
        except (InputError, LogError) as error:
            counted.refused += 1
            counted.longest_message = max(counted.longest_message, len(str(error)))
            if len(str(error)) > LONGEST_MESSAGE:
                counted.found(number, f"a message of more than {LONGEST_MESSAGE:,} characters")
        except Hang as error:
            counted.hangs += 1
            counted.found(number, f"hang {_place(error)}")
        except Exception as error:
            counted.crashes += 1
            counted.found(number, f"{type(error).__name__} {_place(error)}: {str(error)[:80]}")
    for warning in said:
        if issubclass(warning.category, RuntimeWarning):
            counted.warned += 1
            where = warning.filename.removeprefix(f"{ROOT}/")
            counted.found(number, f"warning {where}:{warning.lineno}: {str(warning.message)[:60]}")
    counted.slowest_s = max(counted.slowest_s, time.perf_counter() - start_s)


def _place(error: BaseException) -> str:
    """The last line of our own that was running."""
    ours = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(str(ROOT)) and "fuzz_readers" not in frame.filename
    ]
    return f"{ours[-1].filename.removeprefix(f'{ROOT}/')}:{ours[-1].lineno}" if ours else "outside"


@contextmanager
def _alarm(limit_s: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# The samples


def _files(*paths: Path) -> Callable[[], Sequence[tuple[str, bytes]]]:
    @cache
    def read() -> Sequence[tuple[str, bytes]]:
        return [
            (path.name, b"\n".join(path.read_bytes().split(b"\n")[:MOST_LINES]) + b"\n") for path in paths
        ]

    return read


def _whole(folder: Path, pattern: str) -> Callable[[], Sequence[tuple[str, bytes]]]:
    return cache(lambda: [(path.name, path.read_bytes()) for path in sorted(folder.glob(pattern))])


def _folder(folder: Path, pattern: str) -> Callable[[], Sequence[tuple[str, bytes]]]:
    return _files(*sorted(folder.glob(pattern)))


def _texts(**named: object) -> Callable[[], Sequence[tuple[str, bytes]]]:
    made = [
        (f"{name}.json", data.encode() if isinstance(data, str) else json.dumps(data).encode())
        for name, data in named.items()
    ]
    return lambda: made


def _log_samples() -> Sequence[tuple[str, bytes]]:
    return (*_folder(LOGS, "*.*")(), *_files(DATA / "samples" / "slurm-simulated.txt")(), *_json_logs()())


def _json_logs() -> Callable[[], Sequence[tuple[str, bytes]]]:
    rows = [
        {
            "node": f"n{i % 4}",
            "start": f"2025-01-{i + 1:02d}T00:00:00Z",
            "end": f"2025-01-{i + 1:02d}T05:00:00Z",
            "cause": {"kind": "gpu", "code": i},
            "planned": "no",
        }
        for i in range(20)
    ]
    return _texts(listed=rows, lines="\n".join(json.dumps(row) for row in rows))


def _fit_samples() -> Sequence[tuple[str, bytes]]:
    """Logs of some length: what is fitted needs failures."""
    rows = ["serial,hours,died,site,age_group"]
    rng = random.Random(7)
    for i in range(60):
        hours, died = rng.weibullvariate(900, 1.4), rng.choice(("yes", "no"))
        rows.append(f"g{i},{hours:.1f},{died},{'ab'[i % 2]},{i % 3}")
    events = ["node,start,end,cause"]
    for i in range(80):
        hour, cause = rng.randrange(24 * 300), rng.choice(("gpu", "nic", "disk"))
        day, at = divmod(hour, 24)
        stamp = f"2025-{day // 28 + 1:02d}-{day % 28 + 1:02d}T{at:02d}:00:00Z"
        events.append(f"n{i % 12},{stamp},{stamp[:-6]}30:00Z,{cause}")
    return [("lives.csv", "\n".join(rows).encode()), ("events.csv", "\n".join(events).encode())]


SERIES = (
    b"datetime,Fossil Gas [MW],Nuclear [MW],Solar [MW]\n"
    + b"\n".join(b"2024-01-01T%02d:00Z,%d,5000,%d" % (hour, 900 + hour, 10 * hour) for hour in range(24)),
    b"Datetime (UTC);Carbon intensity gCO2eq/kWh (direct)\n"
    + b"\n".join(b"2024-01-01 %02d:00:00;%d" % (hour, 300 + hour) for hour in range(24)),
)
TRAFFIC = b"timestamp,context_tokens,generated_tokens,requests\n" + b"\n".join(
    b"2024-01-%02dT%02d:00:00,%d,%d,%d" % (1 + i // 24, i % 24, 900 + i, 50 + i, i % 7) for i in range(60)
)
MAPPING = b"""kind = "events"
timezone = "Europe/Berlin"
coalesce_s = 5
planned = ["maintenance"]
time_format = ["iso", "%d.%m.%Y %H:%M"]
fleet_size = 40
[window]
start = 2025-01-01
end = "2025-06-01"
[columns]
unit = "node"
start = "start"
end = "end"
cause = "cause"
[severity]
"gpu" = "hardware"
[causes]
"gpu" = "accelerator"
"""
CARDS = {
    "llama": {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    },
    "mixtral": {
        "model_type": "mixtral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_experts_per_tok": 2,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "num_local_experts": 8,
        "vocab_size": 32000,
    },
    "gpt2": {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257},
}


@cache
def _calibrations() -> Sequence[tuple[str, bytes]]:
    from planner.answers.calibration import calibration_document

    samples = ("measurements.csv", "serving-measurements.csv")
    made = [calibration_document(DATA / "samples" / name) for name in samples]
    constants = [{"name": "exchange_factor", "value": 1.7}, {"name": "fixed_time", "value": 0.05}]
    made[0]["hardware"][0]["traced"] = {"constants": constants}
    return [(f"{name}.json", json.dumps(one).encode()) for name, one in zip(samples, made, strict=True)]


@cache
def _short_rows() -> Sequence[tuple[str, bytes]]:
    """Rows of published values that are quick to judge: a few of each file, and no search among layouts."""
    found = []
    for path in sorted((DATA / "published").glob("*.csv")):
        header, *rows = path.read_bytes().split(b"\n")
        quick = [row for row in rows if row and not row.endswith(b'"') and len(row) < 400]
        found.append((path.name, b"\n".join((header, *quick[:6]))))
    return found


@cache
def _monitoring() -> Sequence[tuple[str, bytes]]:
    """Some minutes of one node in each format of monitoring."""
    labels = {"Hostname": "n1", "UUID": "GPU-0", "modelName": "NVIDIA H100 80GB HBM3"}
    counters = {
        "DCGM_FI_DEV_POWER_USAGE": 70.0,
        "DCGM_FI_DEV_GPU_UTIL": 0.0,
        "DCGM_FI_DEV_FB_USED": 4.0,
        "DCGM_FI_DEV_XID_ERRORS": 79.0,
        "vllm:request_success_total": 9.0,
    }
    start_s = 1_793_188_800
    series = [
        {
            "metric": {"__name__": name} | labels,
            "values": [[start_s + 60 * i, f"{value * (1 + i % 3)}"] for i in range(15)],
        }
        for name, value in counters.items()
    ]
    named = ",".join(f'{key}="{value}"' for key, value in labels.items())
    text = [
        f"{name}{{{named}}} {value * (1 + i % 3)} {1000 * (start_s + 60 * i)}"
        for name, value in counters.items()
        for i in range(15)
    ]
    point = {
        "timeUnixNano": str(start_s * 10**9),
        "asDouble": 70.5,
        "attributes": [{"key": "hw.id", "value": {"stringValue": "GPU-0"}}],
    }
    metrics = [{"name": "hw.power", "unit": "W", "gauge": {"dataPoints": [point, point]}}]
    energy = {"statistics": {"energy": {"consumed": {"set": True, "infinite": False, "number": 72_000_000}}}}
    job = {
        "allocation_nodes": 4,
        "state": {"current": ["NODE_FAIL"]},
        "time": {"start": start_s, "elapsed": 36_000},
        "steps": [energy],
    }
    stops = [_workload("disruptions", ""), _workload("total_elapsed_time", "")]
    columns = {"JobID": "7", "State": "NODE_FAIL", "AllocNodes": "4", "ElapsedRaw": "36000"}
    ended = {"time": start_s, "sacct": columns | {"Start": "2026-10-28T01:00:00+00:00"}}
    checks = [
        {"node": "n1", "health_check": "check pci", "result": 2 * (i % 2), "end_time": start_s + 3600.0 * i}
        for i in range(12)
    ]
    held = {
        "range.json": {"status": "success", "data": {"resultType": "matrix", "result": series}},
        "otlp.json": {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"metrics": metrics}]}]},
        "sacct.json": {"meta": {}, "jobs": [job, job]},
        "goodput.json": {"timeSeries": [_workload("badput_time", source) for source in LOST] + stops},
        "gcm.json": [ended, *checks],
    }
    found = [(name, json.dumps(one).encode()) for name, one in held.items()]
    return [*found, ("scrape.prom", "\n".join(text).encode())]


def _results() -> Sequence[tuple[str, bytes]]:
    """Results of benchmarks, and a trace of one step."""
    kernels = (("gemm", 0, 60), ("ncclDevKernel_SendRecv", 50, 20), ("gemm", 80, 10))
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": at, "dur": lasts, "pid": 0, "args": {"device": 0}}
        for name, at, lasts in kernels
    ]
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 100, "pid": 1}
    trace = {"distributedInfo": {"world_size": 8}, "traceEvents": [*events, step]}
    return [*_whole(ROOT / "tests" / "results", "*.json")(), ("kineto.json", json.dumps(trace).encode())]


def _traces() -> Sequence[tuple[str, bytes]]:
    """Graphs as JSON and as protobuf, and the profiler's own."""
    from planner.inputs.execution_traces import COLLECTIVES
    from planner.report.chakra import COLLECTIVE_NODE, COMPUTE_NODE, Operation, chakra_json, chakra_messages

    steps = [
        Operation("gemm", COMPUTE_NODE, 0.0, 3e-3),
        Operation("sum", COLLECTIVE_NODE, 3e-3, 4e-3, COLLECTIVES[0], 4096.0),
        Operation("gemm", COMPUTE_NODE, 4e-3, 6e-3),
    ]
    shipped = _whole(DATA / "samples", "chakra_small.0.json")()
    (profile,) = (one for one in _results() if one[0] == "kineto.json")
    return [
        *shipped,
        ("step.json", chakra_json(steps).encode()),
        ("step.et", chakra_messages(steps)),
        profile,
    ]


LOST = ("TPU_INITIALIZATION", "PROGRAM_STARTUP", "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION")


def _workload(measure: str, source: str) -> dict[str, Any]:
    """A running sum of ml-goodput as Cloud Monitoring lists it."""
    point = {"interval": {"endTime": "2026-10-28T12:00:00Z"}, "value": {"doubleValue": 900.0}}
    kind = {"type": f"compute.googleapis.com/workload/{measure}", "labels": {"badput_source": source}}
    return {"metric": kind, "resource": {"labels": {"workload_id": "a"}}, "points": [point]}


DATA_SET = {
    "name": "pictures",
    "distribution": [
        {"@type": "cr:FileObject", "name": f"{at}.zip", "contentSize": f"{at + 1}.5 GB"} for at in range(4)
    ],
}
PODS = {
    "kind": "List",
    "items": [
        {
            "kind": "Pod",
            "metadata": {"namespace": f"team-{at % 2}", "ownerReferences": [{"kind": "Job"}]},
            "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
            "status": {"phase": "Running"},
        }
        for at in range(4)
    ],
}
ACTUALS = b"""month,measure,of,value
2027-01,nodes,h100-8/oregon,31
2027-01,used_fraction,h100-8/oregon,71 %
2027-02,energy,,322 MWh
2027-02,cost,,254000
2027-03,failures,,2
2027-03,demand,code,130 /s
2027-03,done_fraction,pretrain-70b,0.8
"""
BILLED = b"BilledCost,BillingCurrency,ChargePeriodStart,ChargeCategory\n" + b"\n".join(
    b"%d.25,USD,2027-%02d-01T00:00:00Z,Usage" % (9000 + i, 1 + i % 12) for i in range(24)
)


# The readers


def _read_log(path: Path) -> object:
    from reliability.logs import read_log

    return read_log(path)


def _fit(path: Path) -> object:
    from planner.answers.failures import FitQuestion, fit_document, mapping_for, read_failures
    from planner.report.data import to_json

    log = read_failures(path, mapping_for(path, None), fleet_size=400)
    return to_json(fit_document(log, FitQuestion()))


def _read_metered(path: Path) -> object:
    from planner.inputs.metering import read_metered

    bare = path.name in ("dcgmi-dmon.txt", "nvidia-smi-bare.csv")
    return read_metered(
        path,
        zone="Europe/Paris" if path.name == "sacct.txt" else None,
        interval_s=10.0 if bare else None,
        columns=("timestamp", "index", "power.draw") if "bare" in path.name else None,
    )


def _read_series(path: Path) -> object:
    from carbon.signals import GridSignal
    from planner.inputs.series import read_series

    signal_ = GridSignal("average", "direct", "production" if path.name == "mix.csv" else "consumption")
    return read_series(path, signal=signal_, time_zone="Europe/London", repeats="mean")


def _read_card(path: Path) -> object:
    from planner.inputs.models import model_facts

    return model_facts(path.name, path)


def _read_list(path: Path) -> object:
    from planner.inputs.croissant import read_data_set
    from planner.inputs.sheets.reading import read_sheets

    return read_data_set(path) if path.name == "croissant.json" else read_sheets("x.json", path.read_bytes())


def _read_fit(path: Path) -> object:
    from planner.inputs.fits import read_fit

    return read_fit(path)


def _read_calibration(path: Path) -> object:
    from planner.inputs.fits import read_calibration

    return read_calibration(path)


def _read_document(path: Path) -> object:
    from planner.cli.loading import opened_document

    return opened_document(argparse.Namespace(plan=str(path)))


def _read_measurements(path: Path) -> object:
    from planner.answers.calibration.results import read_files
    from planner.inputs.hardware_question import Stated
    from planner.inputs.loading import load_catalogue

    return read_files([path], load_catalogue(), Stated())


def _read_results(path: Path) -> object:
    from planner.answers.calibration.results import read_files
    from planner.inputs.hardware_question import Stated
    from planner.inputs.loading import load_catalogue

    run = Stated("h100-8", "llama-3.1-8b", "bf16", "", 8, layout="tp=1,pp=1", batch_sequences=8)
    lacking = {
        "bench-serve.json": Stated(sku="h100-8", precision="bf16", accelerators=4),
        "guidellm.json": Stated(sku="h100-8", precision="bf16", accelerators=2),
        "profile_export_aiperf.json": Stated(sku="h100-8", precision="bf16", accelerators=4),
        "summary_results.json": Stated(accelerators=2),
        "kineto.json": replace(run, sequence_tokens=8192),
    }
    return read_files([path], load_catalogue(), lacking.get(path.name, Stated()))


def _validate(path: Path) -> object:
    from planner.validation import validate

    return validate([path])


def _read_traffic(path: Path) -> object:
    from planner.inputs.editing.series import traffic_found

    return traffic_found(path.name, path.read_bytes(), _serving(), _serving().services[0].name)


@cache
def _serving() -> Any:
    from planner.inputs.scenario import load_scenario

    return load_scenario(DATA / "scenarios" / "serving-only.toml")


def _read_telemetry(path: Path) -> object:
    from planner.answers.telemetry import telemetry_document, telemetry_text, traffic_rows
    from planner.inputs.loading import load_catalogue
    from planner.inputs.telemetry import read_telemetry

    found = read_telemetry([path], interval_s=60.0)
    return telemetry_text(telemetry_document(found, load_catalogue(), "own")), traffic_rows(found)


def _read_traces(path: Path) -> object:
    from planner.answers.traces import traces_document, traces_text

    return traces_text(traces_document([path]))


def _read_tables(path: Path) -> object:
    from planner.inputs.embedding_tables import read_reuse, read_tables

    if path.name == "reuse.csv":
        return read_reuse(path, "fbgemm_t856_bs65536.pt")
    return read_tables(path, "dlrm_criteo_1tb_onehot")


def _read_actuals(path: Path) -> object:
    from planner.inputs.actuals import read_actuals
    from planner.inputs.loading import load_catalogue

    return read_actuals([path], load_catalogue(), "USD")


def _read_mapping(path: Path) -> object:
    from reliability.logs import read_log, read_mapping

    return read_log(LOGS / "events.csv", read_mapping(path))


def _read_job(path: Path) -> object:
    from planner.answers.job import load_job
    from planner.inputs.loading import load_catalogue

    return load_job(path, load_catalogue())


def _read_scenario(path: Path) -> object:
    from planner.inputs.consistency import check_scenario
    from planner.inputs.loading import load_catalogue
    from planner.inputs.scenario import load_scenario

    scenario = load_scenario(path)
    check_scenario(scenario, load_catalogue())
    return scenario


# The share of each reader: DuckDB takes 50 to 100 ms an input, a fit more.
READERS = {
    "failure log": Reader(_log_samples, LOG, _read_log, 0.06),
    "fit of a log": Reader(_fit_samples, LOG, _fit, 0.005),
    "mapping of a log": Reader(lambda: [("mapping.toml", MAPPING)], TOML, _read_mapping, 0.02),
    "metered energy": Reader(_folder(METERED, "*.*"), TABLE, _read_metered, 0.12),
    "grid series": Reader(
        lambda: [*_files(DATA / "series" / "gb-2021.csv")(), ("mix.csv", SERIES[0]), ("maps.csv", SERIES[1])],
        TABLE,
        _read_series,
        0.145,
    ),
    "traffic trace": Reader(lambda: [("trace.csv", TRAFFIC)], TABLE, _read_traffic, 0.10),
    "model configuration": Reader(_texts(**CARDS), JSON, _read_card, 0.13),
    "data set, list of pods": Reader(_texts(croissant=DATA_SET, pods=PODS), JSON, _read_list, 0.02),
    "fit.json": Reader(_folder(ROOT / "tests" / "broken" / "fits", "*.json"), JSON, _read_fit, 0.14),
    "calibration": Reader(_calibrations, JSON, _read_calibration, 0.03),
    "document to explain": Reader(_whole(DATA / "solved", "*.json"), JSON, _read_document, 0.02),
    "measurements": Reader(
        _files(DATA / "samples" / "measurements.csv", DATA / "samples" / "serving-measurements.csv"),
        TABLE,
        _read_measurements,
        0.04,
    ),
    "benchmark results": Reader(_results, JSON, _read_results, 0.02),
    "monitoring": Reader(_monitoring, JSON, _read_telemetry, 0.06),
    "what happened": Reader(
        lambda: [("actual.csv", ACTUALS), ("focus.csv", BILLED)], TABLE, _read_actuals, 0.06
    ),
    "execution traces": Reader(_traces, JSON, _read_traces, 0.03),
    "embedding tables": Reader(
        lambda: [
            ("reuse.csv" if "reuse" in name else name, data)
            for name, data in _files(
                DATA / "samples" / "criteo_tables.csv", DATA / "samples" / "dlrm_datasets_reuse.csv"
            )()
        ],
        TABLE,
        _read_tables,
        0.02,
    ),
    "published values": Reader(_short_rows, TABLE, _validate, 0.02),
    "job file": Reader(_folder(DATA / "jobs", "*.toml"), TOML, _read_job, 0.07),
    "scenario file": Reader(_folder(DATA / "scenarios", "*.toml"), TOML, _read_scenario, 0.08),
}


# The table


def markdown(rows: dict[str, Counted]) -> str:
    """One row for each reader, and their sum."""
    lines = [
        "| reader | inputs | read | refused | crashes | hangs | warnings | slowest | peak memory |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {one.inputs:,} | {one.read:,} | {one.refused:,} | {one.crashes:,} | {one.hangs:,} | "
        f"{one.warned:,} | {one.slowest_s:.1f} s | {one.peak_mb:,.0f} MB |"
        for name, one in rows.items()
    ]
    sums = [
        sum(getattr(one, what) for one in rows.values())
        for what in ("inputs", "read", "refused", "crashes", "hangs", "warned")
    ]
    slowest_s = max((one.slowest_s for one in rows.values()), default=0.0)
    peak_mb = max((one.peak_mb for one in rows.values()), default=0.0)
    total = " | ".join(f"{number:,}" for number in sums)
    return "\n".join([*lines, f"| all | {total} | {slowest_s:.1f} s | {peak_mb:,.0f} MB |"]) + "\n"


def _study(name: str, inputs: int, seed: int, answers: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    answers.send(fuzz(name, inputs=inputs, seed=seed))


def study(names: Iterable[str], *, inputs: int, seed: int) -> dict[str, Counted]:
    """Each reader in a process of its own, so that its memory is its own."""
    context, rows = multiprocessing.get_context("spawn"), {}
    for name in names:
        received, answers = context.Pipe(duplex=False)
        count = max(1, round(READERS[name].share * inputs))
        process = context.Process(target=_study, args=(name, count, seed, answers))
        process.start()
        answers.close()  # so that a process that died ends the wait
        rows[name] = received.recv()
        process.join()
        one = rows[name]
        print(f"{name}: {one.inputs:,} inputs, {one.crashes} crashes, {one.hangs} hangs", flush=True)
        for where, times in one.where.most_common():
            print(f"  {times:6,} {where} (first: input {one.first[where]})", flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.studies.fuzz_readers", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("--inputs", type=int, default=10_000, help="damaged files of all readers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", choices=tuple(READERS), help="these alone")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table as Markdown")
    options = parser.parse_args(arguments)
    rows = study(options.reader or READERS, inputs=options.inputs, seed=options.seed)
    print(markdown(rows))
    if options.table:
        options.table.write_text(markdown(rows), encoding="utf-8")
    return 1 if any(one.crashes or one.hangs for one in rows.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
