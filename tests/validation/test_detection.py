"""Rows of RetinaNet, which finds objects in images: its operations by its layers, and its published rates."""

import pytest

from planner.validation.aliases import constant
from planner.validation.forms import NotUnderstood
from planner.validation.registry import evaluate

LEVELS = (100, 50, 25, 13, 7)  # sides of the pyramid of an image of 800 by 800
TRUNKS = {"resnet50": 4.09e9, "resnext50": 4.23e9}  # of an image of 224 by 224 without its classes, published


def multiplications(trunk: str, classes: int) -> float:
    """A trunk, the pyramid of 256 channels, and two heads of four layers, nine boxes at each place."""
    layer = 9 * 256 * 256
    heads = sum(n * n for n in LEVELS) * (8 * layer + 9 * 256 * 9 * (classes + 4))
    narrow = 256 * (512 * 100**2 + 1024 * 50**2 + 2048 * 25**2)
    pyramid = narrow + layer * (100**2 + 50**2 + 25**2) + 9 * 256 * (2048 * 13**2 + 256 * 7**2)
    return TRUNKS[trunk] * (800 / 224) ** 2 + pyramid + heads


def test_the_count_of_layers_is_that_published_for_another_trunk():
    """PyTorch states 151.54e9 for ResNet-50 and 91 classes; MLPerf has ResNeXt-50 and 264."""
    assert multiplications("resnet50", 91) == pytest.approx(151.54e9, rel=0.01)
    assert constant("benchmark.retinanet.multiplications", "count") == pytest.approx(
        multiplications("resnext50", 264), rel=0.01
    )


@pytest.mark.parametrize(
    ("gpu", "gpus", "scenario", "rate", "within"),
    [
        ("L4", 2, "Offline", 458.5, 0.05),
        ("L40S", 8, "Offline", 6518, 0.15),
        ("H200-141GB-SXM", 8, "Server", 14406, 0.1),
        ("H200-141GB-NVL", 4, "Offline", 6619, 0.05),
        ("Xeon 6980P", 2, "Offline", 716.7, 0.1),
    ],
)
def test_rates_are_near_those_of_mlperf(gpu, gpus, scenario, rate, within):
    """MLPerf Inference v5.1, closed, int8."""
    row = {"benchmark": "retinanet", "scenario": scenario, "gpu": gpu, "gpus": gpus, "round": "v5.1"}

    assert evaluate("serve_system", row | {"precision": "int8"}, "samples/s")[0] == pytest.approx(
        rate, rel=within
    )


def test_what_has_no_law_is_told():
    row = {"benchmark": "retinanet", "scenario": "Interactive", "gpu": "L4", "gpus": 1}

    with pytest.raises(
        NotUnderstood, match="no model of scores, images or objects of 'retinanet' Interactive"
    ):
        evaluate("serve_system", row, "samples/s")
