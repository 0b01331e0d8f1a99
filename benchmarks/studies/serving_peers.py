"""Writes docs/serving-peers.md: questions about serving within targets, answered by a peer and by us.

    python -m benchmarks.studies.serving_peers

The rows of data/fit/serving_points.csv that state targets are what aiconfigurator found best for a model on a
system: a rate with its engine and layout. We are asked as a user would ask, `everfleet throughput --serve`:
our best replica of at most eight accelerators at its greatest rate within the targets, on the same engine.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.fit_serving import POINTS, read_table
from planner.answers.throughput.document import throughput_document
from planner.inputs.hardware_question import Question
from planner.inputs.loading import load_catalogue

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving-peers.md"
COLUMNS = (
    "engine",
    "sku",
    "model",
    "precision",
    "tp",
    "dp",
    "input_tokens",
    "output_tokens",
    "ttft_s",
    "tpot_ms",
    "requests_per_s",
)
LARGEST = 8  # accelerators of a replica, as the peer's systems had
NEAR, FAR = 1.25, 2.0
LAXER = 1.5  # times a target, to see whether an answer hangs at its edge
RANKED = 3  # chips that make a ranking
APART = 1.05  # times the rate of another chip, from which on a ranking of two is held to be one
FAITHFUL = 0.85  # of Kendall's tau
PRICE = (
    "rental.{}.price{}"  # of an hour of an accelerator, by contract: one source for all chips that have it
)
CONTRACT = "semianalysis-2026-inferencex"  # of whose prices the page makes a ranking
INTRODUCTION = """\
Written by `python -m benchmarks.studies.serving_peers`; a test holds the page to it. The peer is
aiconfigurator 0.12 of NVIDIA, which searches layouts over its tables of measured kernels; what it found is
in [serving_points.csv](../data/fit/serving_points.csv). It models no queue: its rate is that of a full
batch, and groups that share experts all read as much in each step. Groups of vLLM and SGLang schedule their
own prompts, so that ours wait for the one that reads most: with them in balance, as the peer takes them, 87 %
of the questions lay within 25 %. Ours is the greatest rate of `everfleet throughput --serve` at which
arrivals by chance keep the same targets, on the engine that the peer chose and our best replica of at most
eight accelerators. All rates are per accelerator. Our kernel facts are derived from the same tables, so that
this page checks how the parts are put together and not the kernels; runs that somebody measured are checked
by `python -m benchmarks.studies.fit_serving`."""


WHY_MISPLACED = """\
B200 and GB200 hold the same dies at 1,000 and 1,200 W, so that nearly all rankings turn on this one pair.
NVIDIA measured it: of one model, format, layout and version of TensorRT-LLM (1.0, and 1.1 and later) GB200
serves 1.06 times the rate of B200 in the median of 73 pairs, 1.09 of 25 of dense models, half of all from
1.03 to 1.09. Below 1 lie Qwen3 30B and Llama 4 Scout in short requests alone (0.61 at least), which wait
for the host; most likely it was not bound to its accelerator, as the page of version 1.2 advises. Nine
pairs of MLPerf Inference offline lie at 1.01. Kernels of GB200 are taken as measured, 0 to 16 % faster than
those of B200; before these pairs 0.95 of it was taken. The last column says whom the measurement bears out.
Where it is the peer, it set vLLM on GB200 and TensorRT-LLM on B200, and for B300 nothing is published. All
pairs that are not named here are ranked alike."""
# Of the second over the first, in the median of published pairs.
MEASURED = {("b200-8", "gb200-nvl72"): 1.06}
WHY_FAR = """\
The rings of four and eight L40S differ by host. The peer's tables come from one without peer copies across
its sockets: 0.16 and 0.04 of PCI Express. The rates that NVIDIA published of Llama 3.1 70B and Mixtral on
four and eight cards (TensorRT-LLM 0.14) take 0.47 and 0.43, as ours do; the other host is the low end."""
WHY_FLIPS = """\
Two causes of earlier flips were found in measured kernels and mended: experts of TensorRT-LLM in blocks
reach 3.5 times the share of vLLM's on Blackwell and 1.1 times on Hopper, which one share for all engines
had levelled; and experts chosen unevenly keep the busiest of eight 1.3 to 1.9 times as long. What is left:
Qwen3 32B in 8 bits comes out 1.3 times too fast on Hopper where an answer has 28 tokens. The peer's step
takes 0.94 to 1.13 times ours there; it adds 0.8 ms a layer to each first token of vLLM and up to once more
the step that reads it (`_prefill_dispatch_overhead_ms`, `_ttft_queuing_factor`), a seventh of such a
request. In TensorRT-LLM the peer leaves three of the steps that read prompts out of its ms a token
(`_tpot_mix_steps`): for mixtures with 28 tokens its own requests at once, rate and first token give 52 to
57 ms where 50 were asked, so that ours, which keeps them, is 0.66 to 0.75 of it, whatever the accelerator."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One question, the peer's rate per accelerator and ours; 0 where no replica of ours works."""

    row: dict[str, str]
    peer_per_s: float
    ours_per_s: float
    accelerators: int
    why: str

    @property
    def ratio(self) -> float:
        return self.ours_per_s / self.peer_per_s

    @property
    def question(self) -> tuple[str, ...]:
        """What is asked, whatever the hardware."""
        names = ("model", "precision", "input_tokens", "output_tokens", "ttft_s", "tpot_ms")
        return tuple(self.row[name] for name in names)

    @property
    def layout(self) -> str:
        return f"tp{self.row['tp']} x {self.row['dp']}"

    @property
    def lengths(self) -> str:
        return f"{self.row['input_tokens']}/{self.row['output_tokens']}"


def questions(path: Path = POINTS) -> list[dict[str, str]]:
    """Rows that state targets."""
    return [row for row in read_table(path, COLUMNS) if row["tpot_ms"]]


def ask(row: dict[str, str]) -> Compared:
    """The same question to us."""
    document = throughput_document(
        Question(
            model=row["model"],
            serve=True,
            precision=row["precision"],
            skus=(row["sku"],),
            input_tokens=float(row["input_tokens"]),
            output_tokens=float(row["output_tokens"]),
            ttft_s=float(row["ttft_s"]),
            tpot_s=float(row["tpot_ms"]) / 1e3,
            engine=row["engine"],
        )
    )
    few = [one for one in document["rows"] if one["accelerators"] <= LARGEST]
    fitting = [one for one in few if one["fits"]]
    peer = float(row["requests_per_s"]) / (float(row["tp"]) * float(row["dp"]))
    if not fitting:
        why = "; ".join(dict.fromkeys(str(one.get("reason")) for one in few))
        return Compared(row, peer, 0.0, 0, why)
    best = max(fitting, key=lambda one: one["limit_per_s"] / one["accelerators"])
    return Compared(row, peer, best["limit_per_s"] / best["accelerators"], best["accelerators"], "")


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


def hourly_usd(sku: str) -> float | None:
    """Price of an hour of an accelerator of an SKU by contract, where the one source of them all has it."""
    catalogue = load_catalogue()
    chip = catalogue.skus[sku].accelerator
    for term in ("@contract-2026", ""):
        key = PRICE.format(chip, term)
        if catalogue.has(key) and catalogue.fact(key).source.name == CONTRACT:
            return float(catalogue.fact(key).value)
    return None


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
    misplaced: tuple[tuple[str, str, float, float], ...]  # the peer's better, the other, theirs and our lead


def by_price(answers: Sequence[Compared]) -> list[Compared]:
    """Rates for a dollar in place of rates, of those whose price by contract is known."""
    priced = ((one, hourly_usd(one.row["sku"])) for one in answers)
    return [
        replace(one, peer_per_s=one.peer_per_s / usd, ours_per_s=one.ours_per_s / usd)
        for one, usd in priced
        if usd is not None
    ]


def rankings(answers: Sequence[Compared]) -> list[Ranking]:
    """Questions that were put on three chips or more."""
    found = []
    for question in dict.fromkeys(one.question for one in answers):
        own = [one for one in answers if one.question == question]
        if len({one.row["sku"] for one in own}) < RANKED:
            continue
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
                    (a.row["sku"], b.row["sku"], a.peer_per_s / b.peer_per_s, a.ours_per_s / b.ours_per_s)
                    for a, b in itertools.permutations(own, 2)
                    if a.peer_per_s > b.peer_per_s and a.ours_per_s < b.ours_per_s
                ),
            )
        )
    return found


def summary(answers: Sequence[Compared]) -> str:
    """Count, median, share within 25 % and extremes of a group, as cells of a table."""
    ratios = np.array([one.ratio for one in answers])
    return (
        f"{len(ratios)} | {np.median(ratios):.2f} | {_near(ratios):.0%} | {ratios.min():.2f} "
        f"| {ratios.max():.2f}"
    )


def _near(ratios: NDArray[np.float64]) -> float:
    return float(((ratios < NEAR) & (ratios > 1.0 / NEAR)).mean())


def _table(title: str, answers: Sequence[Compared], key: Callable[[Compared], str]) -> list[str]:
    lines = [f"| {title} | questions | median | within 25 % | least | most |", "|---|--:|--:|--:|--:|--:|"]
    for name in sorted({key(one) for one in answers}):
        lines.append(f"| {name} | {summary([one for one in answers if key(one) == name])} |")
    return [*lines, ""]


def page(answers: Sequence[Compared]) -> str:
    """The page."""
    ratios = np.array([one.ratio for one in answers])
    far = [one for one in answers if not 1.0 / FAR <= one.ratio <= FAR]
    ranked = rankings(answers)
    flips = [one for one in ranked if one.our_first != one.peer_first]
    lines = [
        "# Serving within targets: aiconfigurator and us",
        "",
        *INTRODUCTION.splitlines(),
        "",
        f"{len(answers)} questions: our rate over theirs is {np.median(ratios):.2f} in the median, "
        f"{_near(ratios):.1%} lie within 25 %, {len(far)} beyond a factor of 2.",
        "",
        *_table("SKU", answers, lambda one: one.row["sku"]),
        *_table("precision", answers, lambda one: one.row["precision"]),
        *_table("tokens in/out", answers, lambda one: one.lengths),
        *_table("model", answers, lambda one: one.row["model"]),
        *_table("peer's engine", answers, lambda one: one.row["engine"]),
        *_table("peer's layout", answers, lambda one: one.layout),
        "## Beyond a factor of 2",
        "",
        *(_far_lines(far) or ["None."]),
        "",
        *WHY_FAR.splitlines(),
        "",
        "## Which accelerator is first",
        "",
        f"{len(ranked)} questions were put on {RANKED} accelerators or more. Kendall's tau of our ranking",
        f"by rate per accelerator against the peer's is "
        f"{np.mean([one.tau for one in ranked]):.2f} in the mean and "
        f"{min(one.tau for one in ranked):.2f} at least; the first differs in {len(flips)}.",
        f"Of pairs that the peer sets {APART - 1.0:.0%} apart or more it is "
        f"{np.mean([one.tau_apart for one in ranked]):.2f} in the mean and "
        f"{min(one.tau_apart for one in ranked):.2f} at least.",
        "",
        *_flip_lines(flips),
        "",
        f"### Where tau is below {FAITHFUL}",
        "",
        *WHY_MISPLACED.splitlines(),
        "",
        *_misplaced_lines([one for one in ranked if one.tau < FAITHFUL]),
        "",
        "## Which accelerator gives most for its price",
        "",
        *_price_lines(rankings(by_price(answers))),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _far_lines(far: Sequence[Compared]) -> list[str]:
    if not far:
        return []
    lines = [
        "| model | SKU | tokens in/out | ms a token | peer's layout | ours over theirs | why |",
        "|---|---|---|--:|---|--:|---|",
    ]
    for one in sorted(far, key=lambda one: one.ratio):
        row = one.row
        lines.append(
            f"| {row['model']} {row['precision']} | {row['sku']} | {one.lengths} | {row['tpot_ms']} "
            f"| {row['engine']} {one.layout} | {one.ratio:.2f} | {_reason(one)} |"
        )
    return lines


def _reason(one: Compared) -> str:
    """Why two answers lie far apart, as far as it can be told from them."""
    if one.why:
        return one.why
    mine, theirs = one.accelerators, int(one.row["tp"]) * int(one.row["dp"])
    sizes = f"our replica has {mine} accelerators, theirs {theirs}" if mine != theirs else "alike in size"
    token, first = (
        ask(one.row | {name: f"{LAXER * float(one.row[name])}"}) for name in ("tpot_ms", "ttft_s")
    )
    return (
        f"{sizes}; at the edge of the targets, which a queue meets sooner than a full batch: "
        f"with {LAXER} times the ms a token {token.ours_per_s / one.peer_per_s:.2f}, "
        f"with {LAXER} times the s to the first {first.ours_per_s / one.peer_per_s:.2f}"
    )


def _flip_lines(flips: Sequence[Ranking]) -> list[str]:
    if not flips:
        return []
    lines = [
        "| model | tokens in/out | s to the first, ms a token | peer's first | ours | lead to the peer |",
        "|---|---|---|---|---|--:|",
    ]
    for one in flips:
        model, precision, read, written, ttft, tpot = one.question
        lines.append(
            f"| {model} {precision} | {read}/{written} | {ttft}, {tpot} | {one.peer_first} | {one.our_first} "
            f"| {one.lead - 1.0:.0%} |"
        )
    return lines


def _misplaced_lines(ranked: Sequence[Ranking]) -> list[str]:
    lines = [
        "| model | tokens in/out | s, ms | tau | the peer's better, by; ours | measured |",
        "|---|---|---|--:|---|---|",
    ]
    for one in ranked:
        model, precision, read, written, ttft, tpot = one.question
        pairs = "; ".join(
            f"{a} over {b} {theirs - 1.0:+.1%}, {ours - 1.0:+.1%}" for a, b, theirs, ours in one.misplaced
        )
        sides = "; ".join(borne_out(a, b) for a, b, _, _ in one.misplaced)
        lines.append(
            f"| {model} {precision} | {read}/{written} | {ttft}, {tpot} | {one.tau:.2f} | {pairs} | {sides} |"
        )
    return lines


def borne_out(better: str, other: str) -> str:
    """Whom a published measurement of two accelerators bears out; the peer's better one is named first."""
    if (other, better) in MEASURED:
        return f"as the peer, {MEASURED[other, better]:.2f}"
    return f"as ours, {MEASURED[better, other]:.2f}" if (better, other) in MEASURED else "nothing"


def _price_lines(ranked: Sequence[Ranking]) -> list[str]:
    """The best buy of the peer's rates and of ours, and what ours would cost by the peer's rates."""
    if not ranked:
        return ["None was put on so many."]
    flips = [one for one in ranked if one.our_first != one.peer_first]
    leads = [one.lead - 1.0 for one in flips]
    return [
        f"By the contract prices of one source ({CONTRACT}), {len(ranked)} questions were put on",
        f"{RANKED} priced accelerators or more. Tau by rate per dollar is "
        f"{np.mean([one.tau for one in ranked]):.2f} in the mean",
        f"({np.mean([one.tau_apart for one in ranked]):.2f} of pairs {APART - 1.0:.0%} apart).",
        f"The first differs in {len(flips)}; by the peer's rates ours costs {np.mean(leads):.1%} more there "
        f"in the mean, {max(leads):.1%} at most."
        if flips
        else "The first is the same in all.",
        "",
        *WHY_FLIPS.splitlines(),
        "",
        *_flip_lines(flips),
    ]


def main() -> None:
    answers = [ask(row) for row in questions()]
    PAGE.write_text(page(answers), encoding="utf-8")
    print(f"{len(answers)} questions: {PAGE.name} is written")


if __name__ == "__main__":
    main()
