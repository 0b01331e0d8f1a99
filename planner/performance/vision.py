"""Vision transformers: images as sequences of patches that all attend to each other."""

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column


def patch_tokens(*, image_pixels: Column, patch_pixels: Column, class_tokens: Column = 1.0) -> Column:
    """Tokens of one square image.

    s = (I / P)^2 + 1

    A step of a vision transformer is `training_step_s` with this sequence, `causal` 0 (every patch sees
    every other) and `vocabulary` 0 (the classes depend on one token).

    Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929, section 3.1.
    """
    require_positive(image_pixels=image_pixels, patch_pixels=patch_pixels)
    require_not_negative(class_tokens=class_tokens)
    side = np.asarray(image_pixels / patch_pixels)
    if np.any(np.abs(side - np.round(side)) > 1e-9):
        raise ValueError(
            f"image_pixels must be a multiple of patch_pixels, got {image_pixels} and {patch_pixels}"
        )
    result: Column = np.square(side) + class_tokens
    return result
