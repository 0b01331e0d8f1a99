"""Who takes part: the share of each group among the devices picked, against its share of all devices.

Picking only green or fast devices saves carbon and leaves out people: the model learns from the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from carbon import _domain


@dataclass(frozen=True, slots=True)
class Underrepresented:
    """A group that takes part far less than it would by its numbers."""

    group: str
    picked_fraction: float
    population_fraction: float

    def __str__(self) -> str:
        return (
            f"{self.group} is {self.population_fraction:.1%} of the devices and "
            f"{self.picked_fraction:.1%} of those picked"
        )


@dataclass(frozen=True, slots=True)
class Participation:
    """Shares by group (country, device tier), and the groups that fall below the least parity."""

    picked_fraction: Mapping[str, float]
    population_fraction: Mapping[str, float]
    warnings: tuple[Underrepresented, ...]

    @classmethod
    def of(
        cls, *, picked: Mapping[str, float], population: Mapping[str, float], least_parity_ratio: float
    ) -> Participation:
        """Shares of the devices picked and of all devices, by group.

        parity_g = (n_g / sum(n)) / (N_g / sum(N)),  warned where parity_g < least

        Equal participation is not equal quality: a group may be heard and still be served worse.

        Raises:
            ValueError: a group was picked that the population does not have, or nobody was.

        Source: form of 29 CFR 1607.4(D) (four fifths, on selection for jobs); Maeng et al.,
        arXiv 2206.02633, on fast and slow devices.
        """
        strangers = sorted(picked.keys() - population.keys())
        if strangers:
            raise ValueError(f"picked holds groups of the population, got also {', '.join(strangers)}")
        _domain.positive(least_parity_ratio=least_parity_ratio)
        shares = _shares("picked", {group: picked.get(group, 0.0) for group in population})
        whole = _shares("population", population)
        return cls(
            picked_fraction=shares,
            population_fraction=whole,
            warnings=tuple(
                Underrepresented(group, shares[group], whole[group])
                for group in population
                if shares[group] < least_parity_ratio * whole[group]
            ),
        )


def _shares(name: str, counts: Mapping[str, float]) -> dict[str, float]:
    _domain.nonnegative(**{f"{name}[{group}]": count for group, count in counts.items()})
    total = sum(counts.values())
    _domain.positive(**{f"sum_of_{name}": total})
    return {group: count / total for group, count in counts.items()}
