"""What no hardware can do: a rate beyond it is a fault of this program, never of its input."""

from collections.abc import Sequence

import numpy as np

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column

_ROUNDING = 1e-9  # of the peak


class CeilingError(RuntimeError):
    """A rate needs more arithmetic than the hardware has at its dense peak: a fault of this program."""


def request_flop(
    *, active_parameters: Column, head_parameters: Column, input_tokens: Column, output_tokens: Column
) -> Column:
    """Least arithmetic of a request: reading the prompt gives the first token, each further one is a step.

    F = 2 (N_act - N_head) (isl + max(osl - 1, 0)) + 2 N_head osl

    The head is met by written tokens alone: a prompt's runs once, for its last token. Attention is left out,
    so that the truth is above.

    Source: two operations for each weight and token.
    """
    require_positive(active_parameters=active_parameters, output_tokens=output_tokens)
    require_not_negative(
        input_tokens=input_tokens,
        head_parameters=head_parameters,
        layer_parameters=active_parameters - head_parameters,
    )
    passed = input_tokens + np.maximum(output_tokens - 1.0, 0.0)
    return 2.0 * (active_parameters - head_parameters) * passed + 2.0 * head_parameters * output_tokens


def check_ceiling(*, flop_per_s: Column, peak_flop_per_s: Column, what: Sequence[str]) -> None:
    """Refuse rates whose arithmetic exceeds the dense peak of the precision that they are computed in.

    X F <= n P

    Args:
        flop_per_s: arithmetic that each rate needs.
        peak_flop_per_s: dense peak of all accelerators that share the work.
        what: each rate in words: model, hardware, precision, tokens.

    Raises:
        CeilingError: a rate is beyond the peak, or is no number at all; the worst is named, with its terms.
    """
    needed, peak, _ = np.broadcast_arrays(flop_per_s, peak_flop_per_s, np.zeros(len(what)))
    used = needed / peak
    beyond = np.flatnonzero(~(used <= 1.0 + _ROUNDING))
    if not len(beyond):
        return
    worst = beyond[np.argmax(np.nan_to_num(used[beyond], nan=np.inf))]
    others = f" {len(beyond) - 1} other rates are beyond theirs, too." if len(beyond) > 1 else ""
    raise CeilingError(
        f"{what[worst]}: needs {needed[worst]:.3g} FLOP/s, {used[worst]:.3g} x the dense peak of "
        f"{peak[worst]:.3g} FLOP/s.{others} No hardware can do this: it is a fault of everfleet, not of your "
        "input, so no answer is given. Please report it with this message."
    )
