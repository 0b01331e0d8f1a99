"""What nobody stated of an accelerator: that of a class, with the spread of the accelerators that are known.

A class is a SKU of the catalogue. Each property that answers count with is taken from it, in proportion to
what it follows (other peaks to the 16-bit one, idle power to the board power), and ranges over what that
proportion is for every accelerator with the same kind of link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.inputs.aliases import aliases
from planner.inputs.catalogue import Catalogue, Sku
from planner.inputs.own.reading import needed_of
from planner.inputs.ranges import COUNTED
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.quantities import Fact

# What a property is in proportion to; the others are taken as they are.
FOLLOWS = {
    "fp16_peak": "bf16_peak",
    "fp8_peak": "bf16_peak",
    "fp6_peak": "bf16_peak",
    "fp4_peak": "bf16_peak",
    "idle_power": "tdp",
    "loaded_idle_power": "tdp",
    "host_power": "accelerators",
    "host_idle_power": "accelerators",
    "embodied": "",
}
# Of its own die; and peers' figures of a footprint say nothing of another board.
_LEFT_OUT = ("launch", "process_node", "die_area")
_WITHOUT_ALTERNATIVES = ("embodied", "price")

NEAR = 10.0  # times what is known: a chip to come, not a wrong unit


@dataclass(frozen=True, slots=True)
class Prior:
    """A property of a class: value and range in the canonical unit, and how it was made."""

    key: str
    value: float
    low: float
    high: float
    unit: str
    locator: str
    boundary: Mapping[str, str]


def beyond_all(prop: str, value: float, unit: str, catalogue: Catalogue) -> str:
    """What is wrong with a property that no accelerator of the catalogue comes near; empty where some do."""
    every = [
        float(catalogue.fact(f"accelerator.{sku.accelerator}.{prop}").value)
        for sku in catalogue.skus.values()
        if catalogue.has(f"accelerator.{sku.accelerator}.{prop}")
    ]
    if min(every) / NEAR <= value <= max(every) * NEAR:
        return ""
    ends = f"{number_text(min(every))} to {number_text(max(every))} {unit}"
    return f"{number_text(value)} {unit} is far from the {ends} of what is known: check the unit"


def class_of(name: str | None, stated: Mapping[str, float], catalogue: Catalogue) -> Sku:
    """The SKU whose class holds: the named one, or the one whose GPU is nearest in what was stated.

    `stated` are properties of the accelerator in canonical units. A TPU, a Gaudi or a processor may be near
    in numbers, but has links, hosts and kernels of its own: its class has to be named.

    Raises:
        InputError: no SKU is called so.
    """
    plugins, kinds = aliases("device_plugin"), aliases("generation")
    boards = {
        chip for kind, chips in kinds.items() if plugins.get(kind, "").endswith("/gpu") for chip in chips
    }
    trained = [
        sku
        for sku in catalogue.skus.values()
        if sku.trains and not sku.announced and sku.accelerator in boards
    ]
    if name is not None:
        if name not in catalogue.skus:
            raise InputError(
                f"--like: there is no SKU '{name}': name one of `everfleet skus`, such as h100-8"
            )
        return catalogue.skus[name]

    def distance(sku: Sku) -> float:
        total = 0.0
        for prop, value in stated.items():
            known = float(catalogue.fact(f"accelerator.{sku.accelerator}.{prop}").value)
            total += abs(value - known) / max(value, known)
        return total

    return min(trained, key=distance)


def accelerator_priors(
    name: str, like: Sku, stated: Mapping[str, float], catalogue: Catalogue
) -> list[Prior]:
    """What a class says of an accelerator next to what is stated."""
    peers = dict.fromkeys(
        sku.accelerator for sku in catalogue.skus.values() if sku.link == like.link and sku.trains
    )
    found = _priors("accelerator", name, like.accelerator, peers, stated, catalogue, like)
    return [*found, *_kernels(name, like, peers, catalogue)]


def server_priors(name: str, like: Sku, stated: Mapping[str, float], catalogue: Catalogue) -> list[Prior]:
    """What a class says of a server next to what is stated."""
    peers = dict.fromkeys(
        sku.server for sku in catalogue.skus.values() if sku.link == like.link and sku.trains
    )
    return _priors("server", name, like.server, peers, stated, catalogue, like)


def _priors(
    room: str,
    name: str,
    like: str,
    peers: Iterable[str],
    stated: Mapping[str, float],
    catalogue: Catalogue,
    sku: Sku,
) -> list[Prior]:
    found = []
    start = f"{room}.{like}."
    wanted = [key.removeprefix(start) for key in catalogue.beginning(start)]
    for prop in dict.fromkeys([*wanted, *needed_of(catalogue, room)]):
        base, _, other = prop.partition("@")
        counted = catalogue.ranges.use(f"{room}.x.{base}") in COUNTED
        left_out = base in _LEFT_OUT or (other and base in _WITHOUT_ALTERNATIVES)
        if prop in stated or left_out or not counted or not catalogue.has(f"{start}{prop}"):
            continue
        found.append(_prior(f"{room}.{name}.{prop}", prop, like, peers, stated, catalogue, sku.name))
    return found


def _prior(
    key: str,
    prop: str,
    like: str,
    peers: Iterable[str],
    stated: Mapping[str, float],
    catalogue: Catalogue,
    sku: str,
) -> Prior:
    room = key.partition(".")[0]
    follows = FOLLOWS.get(prop.partition("@")[0], "")
    scale = stated.get(follows, 1.0)

    def ratio(name: str) -> tuple[float, ...] | None:
        own, of = f"{room}.{name}.{prop}", f"{room}.{name}.{follows}"
        if not catalogue.has(own) or (follows in stated and not catalogue.has(of)):
            return None
        fact = catalogue.fact(own)
        base = float(catalogue.fact(of).value) if follows in stated else 1.0
        return tuple(float(end) / base for end in _ends(fact))

    mine = ratio(like)
    assert mine is not None, "the class has it"
    every = [mine, *(found for name in peers if (found := ratio(name)) is not None)]
    fact = catalogue.fact(f"{room}.{like}.{prop}")
    said = f"of {sku}" + (f", in proportion to {follows}" if follows in stated else "")
    return Prior(
        key,
        mine[0] * scale,
        min(min(found) for found in every) * scale,
        max(max(found) for found in every) * scale,
        fact.unit,
        f"class prior: {said}; range: {len(every) - 1} accelerators or servers with its kind of link",
        fact.boundary,
    )


def _kernels(name: str, like: Sku, peers: Iterable[str], catalogue: Catalogue) -> list[Prior]:
    """How kernels run, carried from the class; the range is that of all that were measured."""
    found = []
    start = f"kernel.{like.accelerator}."
    others = [f"kernel.{peer}." for peer in peers]
    for key in catalogue.beginning(start):
        if catalogue.ranges.use(key) not in COUNTED:
            continue
        prop, fact = key.removeprefix(start), catalogue.fact(key)
        spread = [
            end
            for other in others
            if catalogue.has(f"{other}{prop}")
            for end in _ends(catalogue.fact(f"{other}{prop}"))
        ]
        said = f"class prior: kernels of {like.name}; range: accelerators with its kind of link"
        values = [*spread, *_ends(fact)]
        found.append(
            Prior(
                f"kernel.{name}.{prop}",
                float(fact.value),
                min(values),
                max(values),
                fact.unit,
                said,
                fact.boundary,
            )
        )
    return found


def _ends(fact: Fact) -> tuple[float, float, float]:
    value = float(fact.value)
    return (
        value,
        value if fact.low is None else float(fact.low),
        value if fact.high is None else float(fact.high),
    )
