"""A footprint over what it gave: useful accelerator-hours, requests, tokens."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def useful_kgco2e_per_gpu_h(
    *, footprint_kgco2e: Column, held_gpu_h: Column, useful_fraction: Column
) -> Column:
    """Carbon of a useful accelerator-hour.

    c = C / (t * ETTR)

    Lost, restarted, stalled and idle hours are in C and not in the hours below.

    Source: definition; effective training time ratio of Kokolis et al., arXiv 2410.21680.
    """
    _domain.nonnegative(footprint_kgco2e=footprint_kgco2e)
    _domain.positive(held_gpu_h=held_gpu_h)
    _domain.share_above_zero(useful_fraction=useful_fraction)
    return footprint_kgco2e / (held_gpu_h * useful_fraction)


def answered_kgco2e_per_request(*, footprint_kgco2e: Column, requests: Column) -> Column:
    """Carbon of one answered request.

    c = C / n

    Requests that failed are in C and not in n.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024, with a request as the functional unit.
    """
    _domain.nonnegative(footprint_kgco2e=footprint_kgco2e)
    _domain.positive(requests=requests)
    return footprint_kgco2e / requests


def item_kgco2e(*, footprint_kgco2e: Column, items: Column) -> Column:
    """Carbon of one thing that requests ask for: an image, a film, an hour of sound.

    c = C / n

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024, with the item as the functional unit.
    """
    _domain.nonnegative(footprint_kgco2e=footprint_kgco2e)
    _domain.positive(items=items)
    return footprint_kgco2e / items


def million_tokens_kgco2e(*, footprint_kgco2e: Column, tokens: Column) -> Column:
    """Carbon of a million tokens.

    c = C / n * 10^6

    Say which tokens: read, written, or both.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024, with a million tokens as the unit.
    """
    _domain.nonnegative(footprint_kgco2e=footprint_kgco2e)
    _domain.positive(tokens=tokens)
    return footprint_kgco2e / tokens * 1e6
