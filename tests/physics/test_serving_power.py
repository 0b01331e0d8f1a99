"""Which power law a model draws by, where several were measured."""

import pytest

from planner.inputs.loading import load_catalogue
from planner.physics.serving_power import law_of


@pytest.mark.parametrize(
    ("curve", "model", "precision", "law"),
    [
        ("h100", "qwen3-235b-a22b", "fp8", "h100-scaled"),
        ("h100", "qwen3-235b-a22b", "bf16", "h100-experts"),
        ("h100", "gpt-oss-120b", "w4a16", "h100-scaled"),
        ("h100", "llama-4-maverick", "fp8", "h100-experts"),
        ("h100", "llama-3.1-70b", "w4a16", "h100"),
        ("b200", "qwen3-235b-a22b", "fp8", "b200-experts"),
        ("prior", "qwen3-235b-a22b", "fp8", "prior"),
    ],
)
def test_mixtures_have_laws_of_their_own(curve, model, precision, law):
    """Hopper scales blocks of 8 bits and widens 4 beside its matrix units, Blackwell within them."""
    assert law_of(load_catalogue(), curve, model, precision) == law
