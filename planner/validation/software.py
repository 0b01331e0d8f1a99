"""Which software a row of published throughput ran, and the constants that stand for it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from planner.inputs.catalogue import data_folder, load_catalogue
from planner.performance.throughput import software_factor
from planner.validation.aliases import aliases, constant
from planner.validation.forms import NotUnderstood
from planner.validation.steps import RECOMPUTE, SHARDING, modern_stack

Stack = Mapping[str, Any]
# Quantities of rows that training software ran.
DATED = frozenset({"train", "train_system", "scale_from_anchor"})


@cache
def _file() -> Mapping[str, Any]:
    with (data_folder() / "software.toml").open("rb") as file:
        return tomllib.load(file)


def stacks() -> Mapping[str, Stack]:
    """The stacks of `data/software.toml`, by name."""
    found: Mapping[str, Stack] = _file()["stack"]
    return found


def stack_named(name: str) -> Stack:
    """One stack.

    Raises:
        NotUnderstood: no such stack.
    """
    if name not in stacks():
        raise NotUnderstood(f"software must be one of {', '.join(stacks())}, got '{name[:60]}'")
    return stacks()[name]


def assumed_stack() -> str:
    """The stack that the planner assumes."""
    return str(_file()["assumed"])


def stack_of_source(source: str) -> str:
    """The stack that a publication ran: the first that knows a part of its name, else the assumed one."""
    folded = source.casefold()
    for name, stack in stacks().items():
        if any(part.casefold() in folded for part in stack["sources"]):
            return name
    return assumed_stack()


def stack_of_inputs(chip: str, dtype: str, sharding: int) -> str:
    """The stack of a row that has inputs alone.

    Weights sharded over all ranks in 16 bits are PyTorch FSDP; without that, an accelerator launched before
    the year of `[stack]` in data/aliases.toml ran the Megatron software of its time.
    """
    if sharding >= SHARDING["zero3"]:
        return "mosaicml" if dtype != "fp8" else assumed_stack()
    old = constant(f"accelerator.{chip}.launch", "launch_year") < aliases("stack")["modern_from_launch_year"]
    return "early-sequence-parallel" if old else assumed_stack()


def with_software(quantity: str, inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Inputs of a row with the software of its publication, where they state none themselves."""
    stated = quantity not in DATED or "software" in inputs or "software_year" in inputs
    return dict(inputs) if stated else {**inputs, "software": stack_of_source(source)}


def stack_constants(name: str, *, chip: str, recompute: int) -> dict[str, float]:
    """Arguments of the training step that a stack sets on an accelerator."""
    stack, arguments = stack_named(name), modern_stack()
    replaced: dict[str, str] = dict(stack.get("facts", {}))
    for pattern, facts in stack.get("facts_on", {}).items():
        replaced |= facts if fnmatchcase(chip, pattern) else {}
    arguments |= {argument: constant(key, argument) for argument, key in replaced.items()}
    if not stack.get("hides_gradients", True):
        arguments["data_parallel_hidden_fraction"] = 0.0
    split = stack.get("sequence_parallel", True)
    return {
        **arguments,
        "fused_attention": int(stack.get("fused_attention", True)),
        "sequence_parallel": int(recompute == RECOMPUTE["selective"] if split == "selective" else split),
    }


def sharding_stage(word: str, name: str) -> int:
    """ZeRO stage of a word of a row; where it leaves open whether the optimizer is split, the stack says.

    Raises:
        NotUnderstood: no such word or stack.
    """
    if word not in SHARDING:
        raise NotUnderstood(f"sharding must be one of {', '.join(SHARDING)}, got '{word[:60]}'")
    whole = word == "none_or_optimizer" and not stack_named(name).get("shards_optimizer", True)
    return SHARDING["none"] if whole else SHARDING[word]


def vintage(chip: str, year: int) -> float:
    """Speed of the software of a year on an accelerator, over that which the constants stand for.

    Raises:
        NotUnderstood: nobody measured what software gained on this accelerator.
    """
    room = f"performance.training.vintage.{chip}"
    if not load_catalogue().has(f"{room}.yearly_gain"):
        raise NotUnderstood(f"no measured software gain on {chip}")
    return float(
        software_factor(
            software_year=float(year),
            reference_year=constant(f"{room}.reference_year", "launch_year"),
            yearly_gain_ratio=constant(f"{room}.yearly_gain", "factor"),
            years_back=constant(f"{room}.years_back", "years_back"),
        )
    )


def stack_vintage(chip: str, name: str) -> float:
    """Vintage of a stack that differs from the assumed one by its year; 1 where no gain was measured."""
    if not stack_named(name).get("dated", False):
        return 1.0
    if not load_catalogue().has(f"performance.training.vintage.{chip}.yearly_gain"):
        return 1.0
    return vintage(chip, int(stack_named(name)["year"]))
