"""Accelerators of one question as a peer and we rank them, and what each pair that differs depends on.

A peer that takes the best of three engines on each accelerator compares engines as much as accelerators, and
one that tries batches of a grid knows rates to some percent. So three figures: Kendall's tau of all pairs, of
pairs that the peer sets apart, and of pairs that it sets apart on one engine, whichever it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.studies.peer_answers import Compared
from planner.inputs.loading import load_catalogue

RANKED = 3  # chips that make a ranking
APART = 1.05  # times the rate of another chip, from which on a ranking of two is held to be one
PRICE = (
    "rental.{}.price{}"  # of an hour of an accelerator, by contract: one source for all chips that have it
)
CONTRACT = "semianalysis-2026-inferencex"  # of whose prices the page makes a ranking

ALIKE, OTHERWISE, TIE, ENGINE = "alike", "otherwise", "tie", "engine"
Leads = dict[str, tuple[float, float]]


def kendall(first: Sequence[float], second: Sequence[float], apart: float = 1.0) -> float:
    """Kendall's tau: pairs ranked alike less pairs ranked otherwise, over all pairs.

    tau = sum_{i<j} sign(x_i - x_j) sign(y_i - y_j) / n_pairs

    Pairs count whose values in `first` are so many times apart; 1 where there is none.
    """
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(first)), 2)
        if max(first[i], first[j]) >= apart * min(first[i], first[j])
    ]
    signs = [np.sign(first[i] - first[j]) * np.sign(second[i] - second[j]) for i, j in pairs]
    return float(np.sum(signs)) / len(pairs) if pairs else 1.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accelerators: the peer's better one over the other, by the peer and by us.

    `leads` are both on one engine, by its name; where the peer set one engine on both, on that alone.
    """

    better: str
    other: str
    peer_lead: float
    our_lead: float
    leads: Leads

    @property
    def flips(self) -> bool:
        """Whether we rank the two otherwise, each on the engine that the peer chose for it."""
        return self.peer_lead > 1.0 > self.our_lead

    @property
    def verdict(self) -> str:
        """What the pair says about accelerators.

        A tie where the peer sets them less than 5 % apart on each engine. The engine decides where the peer
        turns them round from one to the other, or sets them apart on one of them alone. Else we rank them
        alike or otherwise, by our mean over the same engines. Far apart on two engines, none in common: as
        they are.
        """
        leads = list(self.leads.values()) or [(self.peer_lead, self.our_lead)]
        signs = {
            float(np.sign(np.log(theirs))) if max(theirs, 1.0 / theirs) >= APART else 0.0
            for theirs, _ in leads
        }
        if signs == {0.0}:
            return TIE
        if len(signs) > 1:
            return ENGINE
        ours = np.sign(np.sum([np.log(mine) for _, mine in leads]))
        return ALIKE if ours in signs else OTHERWISE


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chips of one question as we and the peer rank them."""

    question: tuple[str, ...]
    chips: int
    tau: float
    tau_apart: float  # of pairs that the peer sets apart
    peer_first: str
    our_first: str
    lead: float  # of the peer's first over what the peer gives ours
    pairs: tuple[Pair, ...]

    @property
    def tau_one_engine(self) -> float:
        """Of pairs that the peer sets apart on the same engine; 1 where there is none."""
        verdicts = [pair.verdict for pair in self.pairs]
        alike, otherwise = verdicts.count(ALIKE), verdicts.count(OTHERWISE)
        return (alike - otherwise) / (alike + otherwise) if alike + otherwise else 1.0

    @property
    def flipped(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.flips)


def hourly_usd(sku: str) -> float | None:
    """Price of an hour of an accelerator of an SKU by contract, where the one source of them all has it."""
    catalogue = load_catalogue()
    chip = catalogue.skus[sku].accelerator
    for term in ("@contract-2026", ""):
        key = PRICE.format(chip, term)
        if catalogue.has(key) and catalogue.fact(key).source.name == CONTRACT:
            return float(catalogue.fact(key).value)
    return None


def by_price(answers: Sequence[Compared]) -> list[Compared]:
    """Rates for a dollar in place of rates, of those whose price by contract is known."""
    priced = ((one, hourly_usd(one.row["sku"])) for one in answers)
    return [
        replace(one, peer_per_s=one.peer_per_s / usd, ours_per_s=one.ours_per_s / usd)
        for one, usd in priced
        if usd is not None
    ]


def rankings(answers: Sequence[Compared], others: Sequence[Compared] = ()) -> list[Ranking]:
    """Questions that were put on three chips or more; `others` are the same on further engines."""
    found = []
    for question in dict.fromkeys(one.question for one in answers):
        own = [one for one in answers if one.question == question]
        if len({one.row["sku"] for one in own}) < RANKED:
            continue
        by_engine = {
            (one.row["sku"], one.row["engine"]): one
            for one in (*(other for other in others if other.question == question), *own)
        }
        peer, ours = [one.peer_per_s for one in own], [one.ours_per_s for one in own]
        theirs, mine = int(np.argmax(peer)), int(np.argmax(ours))
        found.append(
            Ranking(
                question,
                len(own),
                kendall(peer, ours),
                kendall(peer, ours, APART),
                own[theirs].row["sku"],
                own[mine].row["sku"],
                peer[theirs] / peer[mine],
                tuple(
                    _pair(a, b, by_engine)
                    for a, b in itertools.permutations(own, 2)
                    if (a.peer_per_s, a.row["sku"]) > (b.peer_per_s, b.row["sku"])
                ),
            )
        )
    return found


def _pair(better: Compared, other: Compared, by_engine: Mapping[tuple[str, str], Compared]) -> Pair:
    a, b = better.row["sku"], other.row["sku"]
    engines = dict.fromkeys((better.row["engine"], other.row["engine"]))
    both = {
        engine: (by_engine[a, engine], by_engine[b, engine])
        for engine in engines
        if (a, engine) in by_engine and (b, engine) in by_engine
    }
    return Pair(
        a,
        b,
        better.peer_per_s / other.peer_per_s,
        better.ours_per_s / other.ours_per_s,
        {
            engine: (x.peer_per_s / y.peer_per_s, x.ours_per_s / y.ours_per_s)
            for engine, (x, y) in both.items()
        },
    )
