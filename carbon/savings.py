"""What one ledger saves against another, and when no saving may be claimed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon.ledger import Ledger
from carbon.scopes import Accounting, Category
from carbon.signals import GridSignal

Column = float | NDArray[np.float64]


class SavingRefused(ValueError):
    """A saving was claimed that the two ledgers cannot show."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Carbon of one ledger less that of another for the same work; negative where it rose.

    Under a marginal signal it is what a change would do; under an average one it is the difference of two
    inventories, which the grid as a whole may not see.
    """

    kgco2e: Column
    fraction: Column
    electricity: GridSignal | None

    @classmethod
    def between(cls, before: Ledger, after: Ledger, *, accounting: Accounting) -> Saving:
        """The saving of `after` against `before`.

        dC = C_before - C_after,  f = dC / C_before

        Raises:
            SavingRefused: the figures are market-based (a contract moves emissions to other customers),
                their electricity was counted in different ways, or a category has different boundaries.

        Source: GHG Protocol, "Scope 2 Guidance", 2015; ISO/IEC 21031:2024 (no market-based measures).
        """
        if accounting != "location":
            raise SavingRefused(f"a saving is location-based, got '{accounting}': a contract is no reduction")
        kinds = {ledger.electricity for ledger in (before, after) if ledger.electricity}
        if len(kinds) > 1:
            raise SavingRefused(
                f"electricity is counted in one way before and after, got {before.electricity} before "
                f"and {after.electricity} after"
            )
        _refuse_other_boundaries(before, after)
        total = before.total_kgco2e(accounting)
        _domain.positive(before_kgco2e=total)
        saved = total - after.total_kgco2e(accounting)
        return cls(saved, saved / total, next(iter(kinds), None))


def _refuse_other_boundaries(before: Ledger, after: Ledger) -> None:
    """A card against a server, or hardware against hardware with its building, looks like a saving."""
    old, new = _boundaries(before), _boundaries(after)
    for category in sorted(old.keys() & new.keys()):
        if old[category] != new[category]:
            raise SavingRefused(
                f"category {int(category)} has one boundary before and after, got "
                f"{', '.join(sorted(old[category]))} before and {', '.join(sorted(new[category]))} after"
            )


def _boundaries(ledger: Ledger) -> Mapping[Category, set[str]]:
    found: defaultdict[Category, set[str]] = defaultdict(set)
    for line in ledger.lines:
        if line.category is not None:
            found[line.category].add(line.boundary)
    return found
