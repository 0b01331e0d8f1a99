"""Writes docs/serving-peers.md: questions about serving within targets, answered by a peer and by us.

    python -m benchmarks.studies.serving_peers

Which questions, and how we are asked: peer_answers.py. How the accelerators of one question are ranked:
peer_rankings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.peer_answers import (
    Compared,
    ask,
    full_batch_ratios,
    new_questions,
    other_engines,
    questions,
)
from benchmarks.studies.peer_rankings import (
    APART,
    CONTRACT,
    ENGINE,
    OTHERWISE,
    RANKED,
    TIE,
    Pair,
    Ranking,
    by_price,
    rankings,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving-peers.md"
NEAR, FAR = 1.25, 2.0
LAXER = 1.5  # times a target, to see whether an answer hangs at its edge
FAITHFUL = 0.85  # of Kendall's tau
INTRODUCTION = """\
Written by `python -m benchmarks.studies.serving_peers`; a test holds the page to it. The peer is
aiconfigurator 0.12 of NVIDIA, which searches layouts over its tables of measured kernels; what it found is
in [serving_points.csv](../data/fit/serving_points.csv). It models no queue: its rate is that of a full
batch. Ours is the greatest rate of `everfleet throughput --serve` at which arrivals by chance keep the same
targets, with answers all of one length as the peer's are (`--alike`) and groups that share experts in balance
as it takes them (`group_wait` 0), on the engine that the peer chose and our best replica of at most eight
accelerators. Groups of vLLM and SGLang schedule their own prompts, and plans let them wait for one another.
All rates are per accelerator. Our kernel facts are derived from the same tables, so that this page checks how
the parts are put together and not the kernels; runs that somebody measured are checked by
`python -m benchmarks.studies.fit_serving`."""


WHY_MISPLACED = """\
B200 and GB200 hold the same dies at 1,000 and 1,200 W, so that nearly all of this turns on one pair. NVIDIA
measured it: of one model, format, layout and version of TensorRT-LLM (1.0, and 1.1 and later) GB200 serves
1.06 times the rate of B200 in the median of 73 pairs, 1.09 of 25 of dense models, half of all from 1.03 to
1.09. Below 1 lie Qwen3 30B and Llama 4 Scout in short requests alone (0.61 at least), which wait for the
host. Nine pairs of MLPerf Inference offline lie at 1.01. B300 serves 1.11 times the rate of B200 in MLPerf
Inference v6.0 (Llama 2 70B Offline and Server, NVFP4, whose unit is half as fast again there; in 8 bits
nothing is published). The last column says whom the measurement bears out. The causes, by pair:

- *tie*: the peer sets the two less than 5 % apart. It tries batches of a grid (40, 48, 56, 64, 80, 96, 112):
  one place more is 14 to 20 % more requests at once, and some percent of the rate.
- *engine*: the peer took the best of three engines on each accelerator. On one engine the two are a tie or
  turn round from one engine to another. A part is no engine's: on SGLang two of four matrices of a layer in
  8 bits run at 4,500 TFLOP/s in the peer, the whole peak of B200, as it takes more time for scaling off a
  measured kernel than that kernel holds.
- *kernels*: one engine on both, and the peer sets them apart. All are in 16 bits on vLLM, whose matrices are
  PyTorch's on each engine. In the peer's table for GB200 two of five of 8,192 rows take more than 1.15 times
  what the same matrices take in its tables for TensorRT-LLM and SGLang, a tenth 1.8 times; at 16,384 rows
  half take 1.4 times. On B200, B300 and GB300 3 to 6 of a hundred do. With the least of the three times for
  each matrix on both chips GB200 is 1.03 and 1.01 times as fast as B200 for Qwen3 32B at 8,192 tokens, 1.09
  and 1.07 at 2,048, 1.06 and 1.08 for 8B, 1.00 to 1.03 for 405B. The exchange of two GB200 takes 2.6 times
  that of two B200 besides. Nothing of it is an error of ours that we know."""
# Of the second over the first, in the median of published pairs.
MEASURED = {("b200-8", "gb200-nvl72"): 1.06, ("b200-8", "b300-8"): 1.11}
WHY_QUEUE = """\
The peer has no queue. Where both of us run its layout full with its batch, most of these come together: what
is left of the difference is what arrivals by chance cost a replica that stands at the edge of its targets,
and it costs most where few requests run (prompts of 8,192 tokens on slow cards, TPOT of 50 ms).
Otherwise, by group:

- Qwen3 32B in 8 bits by vLLM at 28 tokens on Hopper: the peer adds 0.8 ms a layer to a first token and caps
  its rate by it (`_throughput_cap`); its steps alone are within 13 % of ours.
- Llama 70B in 8 bits: the peer takes values as scaled beforehand (`fp8_static`), our matrices as its tables
  have them, scaled token by token: 0.95 of its rate on TensorRT-LLM, 0.9 on vLLM of Blackwell.
- Qwen3 235B on A100: experts cut over eight take the peer 0.6 of the time that our share, measured of whole
  experts, gives. No served run of such a mixture on A100 is published.
- Qwen3 235B on H200, 4,096 tokens in: an error of ours. A step in which one of eight groups reads meets the
  others at their mean, so that experts take 17 ms a step at 224 requests where the peer has 31.
- Qwen3 32B in 16 bits on GB200: the matrices below.
- Llama 70B on four L40S: the rings below."""
WHY_NEW = """\
[serving_more.csv](../data/fit/serving_more.csv) holds answers of the same peer that were asked when all
constants stood; no fit holds them. The new questions are nine, drawn up before one was asked: models,
lengths and targets that the others do not have, each on one engine for all chips (a tenth, Mixtral, the peer
could not answer). As first asked, with answers of ours that spread like exponential ones, 93 % of the 42 and
76 % of the 45 lay within 25 %, the 45 at 0.87 in the median: a step meets long answers more often, so that
their mean is read once whole and not by half. With answers of one length, and exchanges to experts counted
once (`exchange_s`), they are as below. At the peer's own batches, without a queue, the 45 err by 6 % in the
mean and all lie within 25 %. What is ranked otherwise is B300, one place lower in the peer's grid of batches
(576 next to 640 for Qwen3 235B) where we are next to a tie."""
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


def page(answers: Sequence[Compared], others: Sequence[Compared], new: Sequence[Compared]) -> str:
    """The page: of the peer's answers, of the same questions on further engines, and of new questions."""
    ratios = np.array([one.ratio for one in answers])
    far = [one for one in answers if not 1.0 / FAR <= one.ratio <= FAR]
    ranked = rankings(answers, others)
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
        "## Beyond 25 %",
        "",
        *_queue_lines([one for one in answers if not 1.0 / NEAR < one.ratio < NEAR]),
        "",
        "## Beyond a factor of 2",
        "",
        *(_far_lines(far) or ["None."]),
        "",
        *WHY_FAR.splitlines(),
        "",
        "## Answers on which nothing was fitted",
        "",
        *_new_lines(others, new),
        "## Which accelerator is first",
        "",
        *_ranking_lines(ranked, flips),
        "",
        *_flip_lines(flips),
        "",
        f"### Where tau is below {FAITHFUL}",
        "",
        *WHY_MISPLACED.splitlines(),
        "",
        *_misplaced_lines([one for one in ranked if one.tau < FAITHFUL]),
        "",
        "### What one engine leaves",
        "",
        *_left_lines(ranked),
        "",
        "## Which accelerator gives most for its price",
        "",
        *_price_lines(rankings(by_price(answers))),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _queue_lines(beyond: Sequence[Compared]) -> list[str]:
    """Those that differ: how many still do at the peer's own layout and batch, and which."""
    full = full_batch_ratios(beyond)
    still = [one for one in zip(beyond, full, strict=True) if not 1.0 / NEAR < one[1] < NEAR]
    lines = [
        f"{len(beyond)} lie beyond; at the peer's own layout and batch {len(still)} of them do.",
        *WHY_QUEUE.splitlines(),
        "",
        "| model | SKU | tokens in/out | ms a token | peer's layout | ours over theirs | at its batch |",
        "|---|---|---|--:|---|--:|--:|",
    ]
    for one, ratio in sorted(zip(beyond, full, strict=True), key=lambda pair: pair[0].ratio):
        row = one.row
        lines.append(
            f"| {row['model']} {row['precision']} | {row['sku']} | {one.lengths} | {row['tpot_ms']} "
            f"| {row['engine']} {one.layout} | {one.ratio:.2f} | {ratio:.2f} |"
        )
    return lines


def _new_lines(others: Sequence[Compared], new: Sequence[Compared]) -> list[str]:
    """What was asked after the constants stood: how near, and how ranked."""
    lines = [*WHY_NEW.splitlines(), "", "| asked | questions | median | within 25 % | least | most |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    lines += [
        f"| {name} | {summary(own)} |"
        for name, own in (("the same on a second engine", others), ("new questions", new))
        if own
    ]
    ranked = rankings(new)
    if ranked:
        lines += [
            "",
            "| new question | engine | chips | tau | of pairs 5 % apart | ranked otherwise |",
        ]
        lines.append("|---|---|--:|--:|--:|---|")
    for one in ranked:
        engine = next(other.row["engine"] for other in new if other.question == one.question)
        model, precision, read, written, ttft, tpot = one.question
        lines.append(
            f"| {model} {precision}, {read}/{written}, {ttft} s, {tpot} ms | {engine} | {one.chips} "
            f"| {one.tau:.2f} | {one.tau_apart:.2f} | {_leads(one.flipped) or '-'} |"
        )
    return [*lines, ""]


def _ranking_lines(ranked: Sequence[Ranking], flips: Sequence[Ranking]) -> list[str]:
    taus = {
        "all pairs": [one.tau for one in ranked],
        f"pairs that the peer sets {APART - 1.0:.0%} apart": [one.tau_apart for one in ranked],
        "those, both on one engine": [one.tau_one_engine for one in ranked],
    }
    pairs = [pair for one in ranked for pair in one.pairs]
    counts = {name: sum(pair.verdict == name for pair in pairs) for name in (TIE, ENGINE, OTHERWISE)}
    return [
        f"{len(ranked)} questions were put on {RANKED} accelerators or more; the first differs in "
        f"{len(flips)}. Kendall's tau of our",
        "ranking by rate per accelerator against the peer's:",
        "",
        f"| of | mean | least | questions below {FAITHFUL} |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {np.mean(own):.2f} | {min(own):.2f} | {sum(tau < FAITHFUL for tau in own)} |"
            for name, own in taus.items()
        ),
        "",
        f"Of {len(pairs)} pairs {counts[TIE]} are ties on each engine, {counts[ENGINE]} depend on the engine "
        f"and {counts[OTHERWISE]} we rank otherwise.",
        "Where the peer chose two engines for a pair within 30 %, it was asked for both on each, and so were",
        "we. Where the first accelerator differs:",
    ]


def _leads(pairs: Sequence[Pair]) -> str:
    return "; ".join(
        f"{one.better} over {one.other} {one.peer_lead - 1.0:+.1%}, {one.our_lead - 1.0:+.1%}"
        for one in pairs
    )


def _left_lines(ranked: Sequence[Ranking]) -> list[str]:
    """Pairs that we rank otherwise on the same engine, wherever they are."""
    lines = [
        "| model | tokens in/out | s, ms | tau on one engine | the peer's better, by; ours | measured |",
        "|---|---|---|--:|---|---|",
    ]
    for one in ranked:
        left = [pair for pair in one.pairs if pair.verdict == OTHERWISE]
        if left:
            lines.append(
                f"| {_question(one)} | {one.tau_one_engine:.2f} | {_leads(left)} "
                f"| {'; '.join(borne_out(pair) for pair in left)} |"
            )
    return lines if len(lines) > 2 else ["Nothing."]


def _question(one: Ranking) -> str:
    model, precision, read, written, ttft, tpot = one.question
    return f"{model} {precision} | {read}/{written} | {ttft}, {tpot}"


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
        "| model | tokens in/out | s, ms | tau | on one engine | the peer's better, by; ours | cause "
        "| measured |",
        "|---|---|---|--:|--:|---|---|---|",
    ]
    for one in ranked:
        lines.append(
            f"| {_question(one)} | {one.tau:.2f} | {one.tau_one_engine:.2f} | {_leads(one.flipped)} "
            f"| {'; '.join(cause(pair) for pair in one.flipped)} "
            f"| {'; '.join(borne_out(pair) for pair in one.flipped)} |"
        )
    return lines


def cause(pair: Pair) -> str:
    """Why a pair is ranked otherwise; where engines differ, the peer's lead and ours on each."""
    name = {TIE: "tie", ENGINE: "engine", OTHERWISE: "kernels"}.get(pair.verdict, "engine")
    if len(pair.leads) == 1 and pair.verdict in (TIE, OTHERWISE):
        return f"{name}, {next(iter(pair.leads))} on both"
    each = ", ".join(
        f"{engine} {theirs - 1.0:+.1%} and {ours - 1.0:+.1%}" for engine, (theirs, ours) in pair.leads.items()
    )
    return f"{name}: {each or 'none in common'}"


def borne_out(pair: Pair) -> str:
    """Whom a published measurement of the two bears out."""
    better, other = pair.better, pair.other
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
    answers, others, new = (
        [ask(row) for row in rows()] for rows in (questions, other_engines, new_questions)
    )
    PAGE.write_text(page(answers, others, new), encoding="utf-8")
    print(f"{len(answers) + len(others) + len(new)} questions: {PAGE.name} is written")


if __name__ == "__main__":
    main()
