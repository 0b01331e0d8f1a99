"""Why another published figure for the same thing differs: cause by cause, and what is left over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from carbon import _domain
from carbon.columns import Column


def device_kgco2e(
    *,
    die_cm2: Column,
    wafer_ratio: Column,
    processed_kgco2e_per_cm2: Column,
    yield_fraction: Column,
    memory_gb: Column,
    memory_kgco2e_per_gb: Column,
    integrated_circuit_residual_kgco2e: Column,
    body_kgco2e: Column,
    assembly_ratio: Column,
    transport_kgco2e: Column,
    end_of_life_kgco2e: Column,
) -> Column:
    """Carbon of one accelerator in letters that every published formula can be written in.

    E = r * (A * w * c / Y + c_mem * M + E_ic + E_body) + E_transport + E_eol

    w is the wafer area used up for each area of die (edge and kerf), the body is board, cooling and casing.
    ACT leaves out the body and sets w = 1; the component engine is this equation with w = 1.

    Source: common form of ACT (Gupta et al., ISCA 2022), `accelerator_kgco2e` and the ADEME/Falk card model.
    """
    _domain.nonnegative(
        die_cm2=die_cm2,
        processed_kgco2e_per_cm2=processed_kgco2e_per_cm2,
        memory_gb=memory_gb,
        memory_kgco2e_per_gb=memory_kgco2e_per_gb,
        integrated_circuit_residual_kgco2e=integrated_circuit_residual_kgco2e,
        body_kgco2e=body_kgco2e,
        transport_kgco2e=transport_kgco2e,
        end_of_life_kgco2e=end_of_life_kgco2e,
    )
    _domain.at_least(1.0, wafer_ratio=wafer_ratio, assembly_ratio=assembly_ratio)
    _domain.share_above_zero(yield_fraction=yield_fraction)
    die = die_cm2 * wafer_ratio * processed_kgco2e_per_cm2 / yield_fraction
    parts = die + memory_kgco2e_per_gb * memory_gb + integrated_circuit_residual_kgco2e + body_kgco2e
    return assembly_ratio * parts + transport_kgco2e + end_of_life_kgco2e


@dataclass(frozen=True, slots=True)
class Step:
    """One cause of a difference and what it adds."""

    cause: str
    kgco2e: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """From our figure to a published one: ours + steps + residual = theirs."""

    ours_kgco2e: float
    theirs_kgco2e: float
    steps: tuple[Step, ...]

    @property
    def residual_kgco2e(self) -> float:
        """What the causes leave unexplained."""
        return self.theirs_kgco2e - self.ours_kgco2e - sum(step.kgco2e for step in self.steps)

    @property
    def residual_fraction(self) -> float:
        """The unexplained part as a share of the published figure, without sign."""
        return abs(self.residual_kgco2e / self.theirs_kgco2e)


def waterfall(
    equation: Callable[..., float],
    ours: Mapping[str, float],
    theirs: Mapping[str, float],
    causes: Sequence[tuple[str, Sequence[str]]],
    *,
    published_kgco2e: float,
) -> Waterfall:
    """Change our parameters into theirs, cause by cause, and note what each change does to the result.

    d_i = E(theirs up to cause i, else ours) - E(theirs up to cause i - 1, else ours)

    The steps telescope to E(theirs) - E(ours). Causes that multiply each other share their joint effect by
    order: put the boundary first, then what is surest.

    Source: chained substitution, as in index decomposition.

    Raises:
        ValueError: the two sets name other parameters, a parameter differs and no cause names it, or a
            cause names one that is not there.
    """
    _domain.positive(published_kgco2e=published_kgco2e)
    _check_causes(ours, theirs, causes)
    at = dict(ours)
    values = [float(equation(**at))]
    for _, names in causes:
        at |= {name: theirs[name] for name in names}
        values.append(float(equation(**at)))
    steps = tuple(
        Step(cause, after - before)
        for (cause, _), before, after in zip(causes, values[:-1], values[1:], strict=True)
    )
    return Waterfall(values[0], published_kgco2e, steps)


def _check_causes(
    ours: Mapping[str, float], theirs: Mapping[str, float], causes: Sequence[tuple[str, Sequence[str]]]
) -> None:
    if ours.keys() != theirs.keys():
        raise ValueError(
            f"ours and theirs name the same parameters, got only one of {sorted(ours.keys() ^ theirs.keys())}"
        )
    named = [name for _, names in causes for name in names]
    unknown = sorted(set(named) - ours.keys())
    if unknown:
        raise ValueError(f"causes name parameters of the equation, got {unknown}")
    silent = sorted(name for name in ours if ours[name] != theirs[name] and name not in named)
    if silent:
        raise ValueError(f"causes name every parameter that differs, {silent} in none")
