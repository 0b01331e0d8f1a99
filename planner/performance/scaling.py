"""How the loss of a model falls with its size, its data or its compute, and what a wanted loss then takes."""

from dataclasses import dataclass

import numpy as np

from planner.performance._checks import require_positive
from planner.performance.columns import Column, Floats

FEWEST_RUNS = 4  # one more than the law has parameters
_FLOORS = 40  # tried first, from none to just below the smallest loss
_LARGEST_EXPONENT = 10.0


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """L(x) = a (x / x_0)^-b + c with the covariance of (ln a, b, c); x_0 is the geometric mean of the runs.

    `largest_size` is that of the largest run, beyond which the law is extrapolated.
    """

    scale: float
    exponent: float
    floor: float
    reference: float
    covariance: Floats
    runs: int
    largest_size: float
    largest_error_fraction: float


class NotFitted(ValueError):
    """No power law can be told from these runs; the message says why."""


def fit_power_law(*, sizes: Floats, losses: Floats) -> PowerLaw:
    """The power law with a floor that is nearest to some runs.

    min sum_i (L(x_i) / L_i - 1)^2,  a > 0, 0 < b <= 10, 0 <= c < min L

    Bounded least squares of relative errors (trust region), from the best of a row of floors at each of which
    a straight line through logarithms says a and b. The covariance is that of the linearised problem at the
    optimum, times the mean square of what is left, with three degrees of freedom spent.

    Source: Hestness et al., "Deep Learning Scaling is Predictable, Empirically", arXiv 1712.00409; for
    recommendation Ardalani et al., "Understanding Scaling Laws for Recommendation Models", arXiv 2208.08489.

    Raises:
        NotFitted: too few runs, or losses that do not fall.
    """
    from scipy.optimize import curve_fit  # slow to import

    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    require_positive(sizes=x, losses=y)
    if len(x) < FEWEST_RUNS or len(np.unique(x)) < FEWEST_RUNS:
        raise NotFitted(
            f"a power law with a floor has 3 parameters: {FEWEST_RUNS} runs of different size are needed, "
            f"and there are {len(np.unique(x))}"
        )
    if np.corrcoef(np.log(x), y)[0, 1] >= 0:
        raise NotFitted("the losses do not fall as the runs grow: is the column of losses the right one?")
    reference = float(np.exp(np.mean(np.log(x))))
    ratio = np.log(x / reference)

    def law(log_ratio: Floats, log_scale: float, exponent: float, floor: float) -> Floats:
        found: Floats = np.exp(log_scale - exponent * log_ratio) + floor
        return found

    def slopes(log_ratio: Floats, log_scale: float, exponent: float, floor: float) -> Floats:
        falling = law(log_ratio, log_scale, exponent, 0.0)
        return np.stack([falling, -log_ratio * falling, np.ones_like(falling)], axis=1)

    def first(floor: float) -> tuple[float, tuple[float, float, float]]:
        slope, log_scale = np.polyfit(ratio, np.log(y - floor), 1)
        guess = (float(log_scale), float(np.clip(-slope, 1e-3, _LARGEST_EXPONENT)), floor)
        return float(np.sum((law(ratio, *guess) / y - 1.0) ** 2)), guess

    floors = np.linspace(0.0, 1.0 - 1e-4, _FLOORS) * y.min()
    _, guess = min(first(float(floor)) for floor in floors)
    highest = y.min() * (1.0 - 1e-9)
    found, covariance = curve_fit(
        law,
        ratio,
        y,
        p0=guess,
        sigma=y,
        jac=slopes,
        bounds=([-np.inf, 1e-6, 0.0], [np.inf, _LARGEST_EXPONENT, highest]),
        x_scale=(1.0, 0.1, max(0.1 * float(y.min()), 1e-12)),
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12,
        max_nfev=20_000,
    )
    error = law(ratio, *found) / y - 1.0
    return PowerLaw(
        scale=float(np.exp(found[0])),
        exponent=float(found[1]),
        floor=float(found[2]),
        reference=reference,
        covariance=np.asarray(covariance),
        runs=len(x),
        largest_size=float(x.max()),
        largest_error_fraction=float(np.max(np.abs(error))),
    )


def size_for_loss(
    *, target_loss: Column, scale_loss: Column, exponent: Column, floor_loss: Column, reference: Column
) -> Column:
    """Size, data or compute at which the law reaches a loss; infinite at the floor and below.

    x = x_0 (a / (L - c))^(1/b)

    Source: inverse of L = a (x / x_0)^-b + c.
    """
    require_positive(scale_loss=scale_loss, exponent=exponent, reference=reference)
    above = np.asarray(target_loss) - floor_loss
    with np.errstate(divide="ignore"):
        found = reference * (scale_loss / np.maximum(above, 0.0)) ** (1.0 / np.asarray(exponent))
    return found if np.ndim(found) else float(found)


def log_size_error(*, law: PowerLaw, target_loss: float) -> float:
    """Standard error of ln x for the size that a loss above the floor takes.

    s^2 = g' V g,  g = (1/b, -ln(a/(L - c))/b^2, 1/(b (L - c)))

    Source: propagation of errors to first order.
    """
    above = target_loss - law.floor
    slope = np.array(
        [
            1.0 / law.exponent,
            -np.log(law.scale / above) / law.exponent**2,
            1.0 / (law.exponent * above),
        ]
    )
    return float(np.sqrt(max(0.0, slope @ law.covariance @ slope)))


def student_quantile(*, runs: int, share_fraction: float) -> float:
    """Multiple of a standard error between which and its negative lies a share of Student's law.

    t with n - 3 degrees of freedom

    Source: definition.
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(runs - 3, 1), 0.5 + share_fraction / 2.0))


def end_of_range(*, middle: Column, log_error: Column, quantile: Column) -> Column:
    """End of the range of a size whose logarithm has an error.

    x' = x e^(t s)

    Source: propagation of errors.
    """
    return np.asarray(middle) * np.exp(np.multiply(log_error, quantile))


def tokens_of_compute(*, flop: Column, parameters: Column) -> Column:
    """Tokens that a compute budget trains a model on.

    D = C / (6 N)

    N are the parameters that a token passes; attention scores are left out.

    Source: Kaplan et al., "Scaling laws for neural language models", arXiv 2001.08361, section 2.1.
    """
    require_positive(parameters=parameters)
    return flop / (6.0 * np.asarray(parameters))
