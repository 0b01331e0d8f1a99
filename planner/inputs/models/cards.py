"""The seam to the catalogue: a model may be named by the path of its `config.json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from planner.inputs.catalogue import Catalogue, make_fact
from planner.inputs.models.huggingface import read_shape
from planner.inputs.models.shape import active_parameters, parameters
from planner.trace.quantities import Fact, Source

_ALWAYS = ("experts", "experts_per_token", "tied_embeddings", "gated")


def is_card(name: str) -> bool:
    """Whether a model's name is the path of a configuration."""
    return name.endswith(".json")


def model_facts(name: str, path: Path) -> tuple[Fact, ...]:
    """Facts `model.NAME.*` of a configuration, of kind `yours`; parameters are counted from the shape.

    Raises:
        ModelCardError: the file is no configuration that is understood; the message lists every problem.
    """
    shape = read_shape(path)
    counted = {"parameters": parameters(shape), "active_parameters": active_parameters(shape)}
    stated = {key: value for key, value in asdict(shape).items() if value or key in _ALWAYS}
    source = Source("model-card", f"model configuration {name}", link=name)
    return tuple(
        make_fact(
            f"model.{name}.{key}",
            float(value),
            "B" if key.endswith("_bytes") else "count",
            source,
            locator="counted from the shape" if key in counted else path.name,
        )
        for key, value in (counted | stated).items()
    )


def with_model_cards(catalogue: Catalogue, names: Iterable[str], folder: Path) -> Catalogue:
    """A copy that also knows the models that are named by a path, looked for in `folder`.

    Raises:
        ModelCardError: one of the files is no configuration that is understood.
    """
    named = [name for name in dict.fromkeys(names) if is_card(name)]
    facts = [fact for name in named for fact in model_facts(name, folder / name)]
    return catalogue.with_facts(facts) if facts else catalogue
