"""Which software a row of published throughput ran, and the constants that stand for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.inputs.loading import load_catalogue
from planner.inputs.software import Stack, default_stack, newest, stack_named, stacks
from planner.performance.throughput import software_factor
from planner.validation.aliases import aliases, catalogue_name, constant
from planner.validation.forms import NotUnderstood
from planner.validation.stated import RECOMPUTE, SHARDING

# Quantities of rows that training software ran.
DATED = frozenset({"train", "train_system", "scale_from_anchor", "finetune_lora_system"})


def stack_of_source(source: str, chip: str) -> str:
    """The stack that a publication ran: the first that knows a part of its name, else what the chip runs.

    It has to run on the chip at all: the same round of a benchmark holds chips of all makers.
    """
    folded = source.casefold()
    for name, stack in stacks().items():
        if any(part.casefold() in folded for part in stack.sources) and stack.could_run(chip):
            return name
    return default_stack(chip).name


def stack_of_inputs(chip: str, dtype: str, sharding: int) -> str:
    """The stack of a row that has inputs alone.

    Weights sharded over all ranks in 16 bits are PyTorch FSDP; without that, an accelerator launched before
    the year of `[stack]` in data/aliases.toml ran the Megatron software of its time.
    """
    if sharding >= SHARDING["zero3"]:
        return "mosaicml" if dtype != "fp8" else default_stack(chip).name
    old = constant(f"accelerator.{chip}.launch", "launch_year") < aliases("stack")["modern_from_launch_year"]
    return "early-sequence-parallel" if old else default_stack(chip).name


def with_software(quantity: str, inputs: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Inputs of a row with the software of its publication, where they state none themselves."""
    if quantity == "serve_system" and "engine" not in inputs:
        released = (name for part, name in aliases("released_engine").items() if part in source)
        found = next(released, None)
        return {**inputs, "engine": found} if found else dict(inputs)
    stated = quantity not in DATED or "software" in inputs or "software_year" in inputs
    if stated or not isinstance(inputs.get("gpu"), str):
        return dict(inputs)
    try:
        chip = catalogue_name("accelerator", inputs["gpu"])
    except ValueError:
        return dict(inputs)  # the row is refused by its adapter, which names the accelerator
    return {**inputs, "software": stack_of_source(source, chip)}


def split_by_stack(stack: Stack, recompute: int) -> int:
    """Whether a stack splits activations along the sequence on a stated layout."""
    split = stack.sequence_parallel
    return int(recompute == RECOMPUTE["selective"] if split == "selective" else bool(split))


def sharding_stage(word: str, name: str) -> int:
    """ZeRO stage of a word of a row; where it leaves open whether the optimizer is split, the stack says.

    Raises:
        NotUnderstood: no such word or stack.
    """
    if word.casefold() not in SHARDING:
        raise NotUnderstood(f"sharding must be one of {', '.join(SHARDING)}, got '{word[:60]}'")
    whole = word == "none_or_optimizer" and not stack_named(name).shards_optimizer
    return SHARDING["none" if whole else word.casefold()]


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


def stack_of_year(chip: str, year: int) -> str:
    """The stack that a chip ran in a year: the newest of its stacks that is no younger, else the oldest."""
    runs = [stack for stack in stacks().values() if stack.runs(chip)]
    old = [stack for stack in runs if stack.year <= year]
    if not runs:
        return default_stack(chip).name
    return newest(old).name if old else min(runs, key=lambda one: one.year).name


def vintage_of(chip: str, name: str | None, year: int | None) -> float:
    """Speed over that of the constants: of a stack that differs by its year alone, or of a year before all.

    1 where the constants are those of the stack, or where nobody measured what software gained.
    """
    if name is None:
        return 1.0
    stack = stack_named(name)
    if year is not None and year < stack.year:
        return vintage(chip, year)
    if not stack.dated or not load_catalogue().has(f"performance.training.vintage.{chip}.yearly_gain"):
        return 1.0
    return vintage(chip, stack.year)
