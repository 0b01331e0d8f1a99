"""What every table of a scenario or a job is made of, and the kinds of field that several of them have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationInfo, ValidatorFunctionWrapHandler, field_validator
from pydantic.fields import FieldInfo

from planner.inputs.scenario.fields import Choice, Count, Fraction, Frame, ModelName, Range, Rule, Text
from planner.inputs.scenario.fields_nested import Several
from planner.trace.currency import Stated
from planner.trace.units import SUFFIX_UNITS


@dataclass(frozen=True, slots=True)
class SiteRef(Text):
    """The name of a site, or of rented nodes where work may go: it follows when that is renamed."""


_CARD, _SKU, _SITE = ModelName('"llama-3.1-70b"'), Text('"h100-8"'), SiteRef('"dallas"')

CardName = Annotated[str, _CARD]
MODEL_SAYS = (
    "Model of the catalogue, or the path of its Hugging Face config.json from the folder of the scenario"
)
SkuName = Annotated[str, _SKU]
SiteName = Annotated[str, _SITE]
SkuNames = Annotated[tuple[str, ...] | None, Several(_SKU)]
SiteNames = Annotated[tuple[str, ...] | None, Several(_SITE)]
Precision = Annotated[
    Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4"],
    Choice('"bf16"', ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4")),
]
ServingPrecision = Annotated[
    Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4", "int8", "w4a16", "w4a8", "w4int8"],
    Choice('"bf16"', ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4", "int8", "w4a16", "w4a8", "w4int8")),
]
METHODS = ("full", "lora")
Method = Annotated[Literal["full", "lora"] | None, Choice('"lora"', METHODS)]
METHOD_SAYS = "What is trained: all weights, or adapters next to frozen ones; default: all"
AdapterRank = Annotated[int | None, Count("16", Range(1, 4096))]
RANK_SAYS = "Rank of the adapters; default: the fact performance.adapter.rank"
PowerCaps = Annotated[tuple[float, ...] | None, Several(Fraction("0.8", Range(0.3, 1)))]
CAPS_SAY = "Accelerator power to try, as shares of the rated; default: 1"
Clocks = Annotated[tuple[float, ...] | None, Several(Fraction("0.8", Range(0.3, 1)))]
CLOCKS_SAY = (
    "Accelerator clocks to try, locked at shares of the highest: what waits for memory hardly slows down"
)
TechniqueNames = Annotated[tuple[str, ...], Several(Text('"kv-fp8"'), most=3, least=0)]


_UNITS = "|".join(sorted(SUFFIX_UNITS.keys() - {"shape"}, key=len, reverse=True))
_UNIT_AT_END = re.compile(rf"(?:_(?:{_UNITS}))?(?:_per_\w+)?$")


def key_of(attribute: str) -> str:
    """The key that gives an attribute: its name without the unit, which the file writes next to the number.

    Where it writes a plain number, the key keeps the unit: `alias` of the field says so.
    """
    return _UNIT_AT_END.sub("", attribute, count=1)


class Unread(Exception):
    """A value that stands in the file and could not be read: what needs it has nothing to say."""


class Part(BaseModel):
    """A table of the file: unknown keys are refused, and each key is read by the rule next to its type."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, alias_generator=key_of)

    @field_validator("*", mode="wrap")
    @classmethod
    def _read(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        rule = rule_of(cls, str(info.field_name))
        if rule is None:
            return handler(value)
        read = rule.read(value, info.context or Frame())
        checked = handler(read)
        held = read if isinstance(read, tuple) else (read,)
        # Checking makes plain numbers of money that says in which currency it was written.
        return read if any(isinstance(one, Stated) for one in held) else checked

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is not there: of a part that is read as far as it goes, a value that is wrong."""
            if name in type(self).model_fields:
                raise Unread(name)
            return super().__getattr__(name)

    def but(self, **changes: Any) -> Self:
        """A copy with other values, as they are after reading."""
        return self.model_copy(update=changes)

    def has(self, *attributes: str) -> bool:
        """Whether all of these stand in the file, right or wrong."""
        return self.model_fields_set.issuperset(attributes)

    def reads(self, *attributes: str) -> bool:
        """Whether all of these stand in the file, and could be read."""
        return self.has(*attributes) and vars(self).keys() >= {*attributes}


def rule_of(part: type[BaseModel], attribute: str) -> Rule | None:
    """What may be in a field; none for a field that is itself a table or a list of tables."""
    metadata = part.model_fields[attribute].metadata
    return next((entry for entry in metadata if isinstance(entry, Rule)), None)


def part_in(field: FieldInfo) -> type[Part]:
    """The table that a field is, or that it is a list of."""
    annotation: Any = field.annotation
    inner: type[Part] = (*get_args(annotation), annotation)[0]
    return inner


def is_list(field: FieldInfo) -> bool:
    """Whether a field that holds tables holds a list of them."""
    return get_origin(field.annotation) is tuple
