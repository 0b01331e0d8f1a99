"""Models as their makers publish them: a shape, its parameters, and facts that plans can stand on."""

from planner.inputs.models.cards import is_card, model_facts, with_model_cards
from planner.inputs.models.huggingface import FAMILIES, ModelCardError, read_shape
from planner.inputs.models.shape import ModelShape, active_parameters, parameters

__all__ = [
    "FAMILIES",
    "ModelCardError",
    "ModelShape",
    "active_parameters",
    "is_card",
    "model_facts",
    "parameters",
    "read_shape",
    "with_model_cards",
]
