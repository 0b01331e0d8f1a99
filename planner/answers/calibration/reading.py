"""A CSV of measurements: one row for each, every problem of the file reported at once."""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.inputs.catalogue import Catalogue, Sku
from planner.inputs.files import limited_lines, no_cells, read_limited, refuse_many
from planner.performance.calibrate_serving import measured_rate_per_s
from planner.physics.precisions import FORMATS
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.units import UnitError, convert_factor

# What may be measured -> the unit that it is kept in.
QUANTITIES = {
    "tokens_rate": "1/s",
    "tokens_rate_per_accelerator": "1/s",
    "step_time": "s",
    "node_power": "kW",
    "accelerator_power": "kW",
}
POWERS = ("node_power", "accelerator_power")
NEEDED = ("sku", "model", "precision", "accelerators", "quantity", "value", "unit", "source")
TRAINED = ("batch_sequences", "sequence_tokens")
# A row whose `batch` is filled measured serving: requests that ran, and their mean lengths.
SERVED = ("batch", "input_tokens", "output_tokens")
SPREAD = "output_scv"  # of the answers; 1 where its cell is empty, as wherever only means are known
SERVED_QUANTITIES = {"tokens_rate": "1/s", "tokens_rate_per_accelerator": "1/s", "inter_token_time": "s"}
# A stated layout: what a part is where its cell is empty. Recomputation and sharding as in `memory.py`.
LAYOUT_DEFAULTS = {
    "tp": 1,
    "pp": 1,
    "interleave": 1,
    "cp": 1,
    "micro_batch": 1,
    "recompute": 1,
    "sharding": 1,
}
ENGINE = "engine"  # that served; the newest where its cell is empty
COLUMNS = (*NEEDED, *TRAINED, *SERVED, SPREAD, ENGINE, *LAYOUT_DEFAULTS)
FEW = 10  # names that a message lists in full
LARGEST_CODE = {"recompute": 2, "sharding": 3}


@dataclass(frozen=True, slots=True)
class Workload:
    """What was trained, and on how many accelerators; `layout` is None where the planner's own holds."""

    sku: Sku
    model: str
    precision: str
    accelerators: int
    batch_sequences: int
    sequence_tokens: int
    layout: tuple[tuple[str, int], ...] | None

    @property
    def tokens(self) -> int:
        """Tokens of one step."""
        return self.batch_sequences * self.sequence_tokens


@dataclass(frozen=True, slots=True)
class TracedStep:
    """Where the time of a step of one rank went, on average over the steps of its trace.

    `compute_s`, `exposed_s` (communication with nothing else running) and `idle_s` add up to `step_s`.
    """

    file: str
    form: str
    steps: int
    step_s: float
    compute_s: float
    exposed_s: float
    receives: bool

    @property
    def idle_s(self) -> float:
        """Nothing runs on the device."""
        return self.step_s - self.compute_s - self.exposed_s


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured value, in the unit of its quantity; of a whole file where it has no line."""

    file: str
    line: int
    workload: Workload
    quantity: str
    value: float
    source: str
    traced: TracedStep | None = None

    @property
    def step_s(self) -> float:
        """The measured step; rates are what a step of this many tokens gives."""
        if self.quantity == "step_time":
            return self.value
        each = self.workload.accelerators if self.quantity == "tokens_rate_per_accelerator" else 1
        return self.workload.tokens / (self.value * each)


@dataclass(frozen=True, slots=True)
class Served:
    """One measured replica: the requests that it ran, and the tokens that it wrote.

    `groups` share attention; None leaves them to the planner.
    """

    file: str
    line: int
    sku: Sku
    model: str
    precision: str
    accelerators: int
    batch: float
    input_tokens: float
    output_tokens: float
    output_scv_ratio: float
    tokens_per_s: float
    source: str
    engine: str
    groups: int | None = None


Problems = list[tuple[str, int, str]]  # file, line of it, what is wrong with that


def file_text(path: Path) -> str:
    """The text of a file of measurements.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return read_limited(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: cannot be read: {_reason(error)}") from None


def read_measurements(
    name: str, text: str, catalogue: Catalogue
) -> tuple[list[Measurement], list[Served], Problems]:
    """The measurements of training and of serving in a table, and what is wrong with its other rows.

    Raises:
        InputError: its header is wrong, or it has no rows.
    """
    reader = csv.DictReader(limited_lines(name, text.splitlines()), restkey="")
    header = _header(name, reader)
    refuse_many(name, 1, len(header))
    reader.fieldnames = header
    refuse(name, _header_problems(header))
    found: list[Measurement] = []
    served: list[Served] = []
    problems: Problems = []
    for line, row in _rows(name, reader):
        cells = {column: (row.get(column) or "").strip() for column in COLUMNS}
        wrong = ["has more cells than the header"] if "" in row else []
        wrong += _row_problems(cells, catalogue)
        problems += [(name, line, what) for what in wrong]
        if not wrong and cells["batch"]:
            served.append(_served(name, line, cells, catalogue))
        elif not wrong:
            found.append(_measurement(name, line, cells, catalogue))
    refuse(name, [] if found or served or problems else ["has no measurement below its header"])
    return found, served, problems


def _header(name: str, reader: csv.DictReader[str]) -> list[str]:
    try:
        return [column.strip() for column in reader.fieldnames or ()]
    except csv.Error as error:
        raise no_cells(name, 1, error) from None


def _rows(name: str, reader: csv.DictReader[str]) -> list[tuple[int, dict[str, str]]]:
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise no_cells(name, reader.line_num, error) from None


def refuse(name: str, problems: Iterable[str]) -> None:
    """Raise every problem of a file, a line each."""
    said = [f"{name}: {what}" for what in problems]
    if said:
        raise InputError("\n".join(said))


def _header_problems(header: list[str]) -> list[str]:
    if not set(header) & set(COLUMNS):
        return [
            f"is neither a table of measurements, whose header begins {','.join(NEEDED[:3])}, nor the JSON "
            "of a benchmark"
        ]
    kind = SERVED if set(SERVED) & set(header) else TRAINED
    problems = [f"the column '{name}' is missing" for name in (*NEEDED, *kind) if name not in header]
    unknown = [name for name in header if name not in COLUMNS]
    problems += [
        f"the column '{name[:64]}' is not known{nearest_names(name, COLUMNS)}" for name in unknown[:FEW]
    ]
    problems += [f"{count_text(len(unknown) - FEW)} more columns are not known"] if len(unknown) > FEW else []
    return problems + [
        f"the column '{name}' occurs twice" for name in {n for n in header if header.count(n) > 1}
    ]


def _row_problems(cells: Mapping[str, str], catalogue: Catalogue) -> list[str]:
    serves = bool(cells["batch"])
    problems = [
        f"{name} is '{cells[name]}': write a whole number of 1 or more"
        for name in ("accelerators", *(() if serves else TRAINED))
        if _count(cells[name]) < 1
    ]
    problems += _served_problems(cells) if serves else _layout_problems(cells)
    quantities = SERVED_QUANTITIES if serves else QUANTITIES
    known: dict[str, tuple[str, ...]] = {
        "sku": tuple(catalogue.skus),
        "model": catalogue.names("model", "layers"),
        "quantity": tuple(quantities),
    }
    if cells[ENGINE]:
        known[ENGINE] = tuple(catalogue.engines)
    for name, names in known.items():
        if cells[name] not in names:
            problems.append(f"there is no {name} '{cells[name]}'{nearest_names(cells[name], names)}")
    sku = catalogue.skus.get(cells["sku"])
    peak = (
        FORMATS[cells["precision"]].peak if serves and cells["precision"] in FORMATS else cells["precision"]
    )
    if sku and not catalogue.has(f"accelerator.{sku.accelerator}.{peak}_peak"):
        problems.append(
            f"{sku.accelerator} has no matrix rate at precision '{cells['precision']}': write bf16 or fp8"
        )
    if not cells["source"]:
        problems.append("source is empty: say who measured it, and when")
    return problems + _value_problems(cells, quantities)


def _layout_problems(cells: Mapping[str, str]) -> list[str]:
    problems: list[str] = []
    for name in LAYOUT_DEFAULTS:
        least = 0 if name in LARGEST_CODE else 1
        count = _count(cells[name]) if cells[name] else least
        if not least <= count <= LARGEST_CODE.get(name, math.inf):
            most = f" to {LARGEST_CODE[name]}" if name in LARGEST_CODE else " or more"
            problems.append(f"{name} is '{cells[name]}': write a whole number from {least}{most}")
    if cells[ENGINE]:
        problems.append("engine is of a row that measured serving: fill its batch, or leave engine empty")
    if any(cells[name] for name in LAYOUT_DEFAULTS) and not (cells["tp"] and cells["pp"]):
        problems.append("a stated layout needs tp and pp; leave all of its cells empty for the planner's own")
    return problems


def _served_problems(cells: Mapping[str, str]) -> list[str]:
    problems = [
        f"{name} is '{cells[name]}': write a number above 0"
        for name in SERVED
        if not _number(cells[name]) > 0
    ]
    if cells[SPREAD] and not _number(cells[SPREAD]) >= 0:
        problems.append(f"{SPREAD} is '{cells[SPREAD]}': write 0 where answers are alike, or a number above")
    filled = [name for name in (*TRAINED, *LAYOUT_DEFAULTS) if cells[name]]
    if filled:
        problems.append(f"batch says that this row measured serving: leave {', '.join(filled)} empty")
    return problems


def _value_problems(cells: Mapping[str, str], quantities: Mapping[str, str]) -> list[str]:
    problems: list[str] = []
    if not _number(cells["value"]) > 0:
        problems.append(f"value is '{cells['value']}': write a number above 0")
    if cells["quantity"] in quantities:
        try:
            convert_factor(cells["unit"], quantities[cells["quantity"]])
        except UnitError as error:
            problems.append(f"unit of {cells['quantity']}: {error}")
    return problems


def _measurement(file: str, line: int, cells: Mapping[str, str], catalogue: Catalogue) -> Measurement:
    layout = None
    if cells["tp"]:
        layout = tuple((name, _count(cells[name] or str(usual))) for name, usual in LAYOUT_DEFAULTS.items())
    workload = Workload(
        sku=catalogue.skus[cells["sku"]],
        model=cells["model"],
        precision=cells["precision"],
        accelerators=_count(cells["accelerators"]),
        batch_sequences=_count(cells["batch_sequences"]),
        sequence_tokens=_count(cells["sequence_tokens"]),
        layout=layout,
    )
    factor = convert_factor(cells["unit"], QUANTITIES[cells["quantity"]])
    value = _number(cells["value"]) * factor
    return Measurement(file, line, workload, cells["quantity"], value, cells["source"])


def _served(file: str, line: int, cells: Mapping[str, str], catalogue: Catalogue) -> Served:
    value = _number(cells["value"]) * convert_factor(cells["unit"], SERVED_QUANTITIES[cells["quantity"]])
    accelerators, batch = _count(cells["accelerators"]), _number(cells["batch"])
    if cells["quantity"] == "inter_token_time":
        value = float(measured_rate_per_s(batch=batch, inter_token_s=value))
    elif cells["quantity"] == "tokens_rate_per_accelerator":
        value *= accelerators
    return Served(
        file,
        line,
        catalogue.skus[cells["sku"]],
        cells["model"],
        cells["precision"],
        accelerators,
        batch,
        _number(cells["input_tokens"]),
        _number(cells["output_tokens"]),
        _number(cells[SPREAD] or "1"),
        value,
        cells["source"],
        cells[ENGINE] or catalogue.default_engine,
    )


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else "it is not a text file in UTF-8"


def _count(text: str) -> int:
    """A whole number; -1 where the text is none."""
    return int(text) if text.isdecimal() and text.isascii() else -1


def _number(text: str) -> float:
    """A finite number; not a number where the text is none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def nearest_names(name: str, names: Sequence[str]) -> str:
    """The names nearest to one that is not known, as the end of a message."""
    close = difflib.get_close_matches(name[:64], names, n=3)
    if not close and len(names) <= FEW:
        return f"; there is {', '.join(names)}"
    return f"; near: {', '.join(close)}" if close else ""
