"""Layouts that someone states: what they do not divide is named."""

from collections.abc import Sequence
from functools import lru_cache

from planner.performance._checks import require_positive
from planner.performance.bundles import Split, named


def require_layout(
    *,
    accelerators: int,
    global_batch: int,
    layers: int,
    heads: int,
    kv_heads: int,
    sequence_tokens: int,
    split: Split,
    experts: int = 0,
) -> None:
    """Raise ValueError that names everything that a stated layout does not divide.

    n = t p c d,  B = m b d,  a = 0 mod t,  kv = 0 mod t or t = 0 mod kv,  l = 0 mod v,  s = 0 mod c,
    E = 0 mod e,  n/p = 0 mod e

    Where the stages do not divide the layers, the chunks of a stage need not do so either: none may be
    empty. 61 layers in 2 x 8 chunks are fifteen of 4 and one of 1.

    Source: Narayanan et al., SC'21, arXiv 2104.04473; Liu et al., arXiv 2504.14960 (experts).
    """
    require_heads(heads=heads, kv_heads=kv_heads)
    require_positive(
        accelerators=accelerators,
        global_batch=global_batch,
        layers=layers,
        sequence_tokens=sequence_tokens,
        **named(split),
    )
    tp, pp, cp, ep, interleave = split.tp, split.pp, split.cp, split.ep, split.interleave
    copy, held = tp * pp * cp, -(-layers // pp)
    tensor = [t for t in divisors(heads) if kv_heads % t == 0 or t % kv_heads == 0]
    problems = [
        f"tp x pp x cp = {copy} does not divide {accelerators} accelerators" if accelerators % copy else "",
        _undivided("tp", tp, heads, "heads", tensor) if heads % tp else "",
        _undivided("tp", tp, kv_heads, "kv_heads", tensor) if kv_heads % tp and tp % kv_heads else "",
        f"pp {pp} is more than {layers} layers" if pp > layers else "",
        _undivided("interleave", interleave, held, "layers of a stage")
        if held % interleave and (layers % pp == 0 or pp * interleave > layers)
        else "",
        _undivided("cp", cp, sequence_tokens, "tokens") if sequence_tokens % cp else "",
        _undivided("ep", ep, experts, "experts") if experts % ep else "",
        f"ep {ep} needs a model with experts" if ep > 1 and not experts else "",
        f"ep {ep} does not divide the {accelerators}/{pp} accelerators of a stage"
        if accelerators % (pp * ep)
        else "",
    ]
    copies = accelerators // copy * split.micro_batch
    if accelerators % copy == 0 and global_batch % copies:
        problems.append(
            f"dp {accelerators // copy} x micro_batch {split.micro_batch} does not divide "
            f"a batch of {global_batch}: "
            f"{_nearest(global_batch, range(copies, global_batch + copies + 1, copies))}"
        )
    if found := [problem for problem in problems if problem]:
        raise ValueError("; ".join(found))


def require_heads(*, heads: int, kv_heads: int) -> None:
    """Raise ValueError where a model has no heads, which attention is split by.

    a >= 1,  kv >= 1

    Source: definition.
    """
    if heads < 1 or kv_heads < 1:
        raise ValueError(
            f"heads and kv_heads must be at least 1, got {heads} and {kv_heads}: a model without attention "
            "is described by mixer_parameters and attention_fraction 0, with heads 1"
        )


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Whole numbers that divide a number."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)


def _undivided(name: str, parts: int, whole: int, what: str, good: Sequence[int] = ()) -> str:
    """What is wrong, and which numbers would do."""
    return f"{name} {parts} does not divide {whole} {what}: {_nearest(parts, good or divisors(whole))}"


def _nearest(number: int, good: Sequence[int]) -> str:
    """The next good numbers below and above."""
    ends = max((n for n in good if n < number), default=0), min((n for n in good if n > number), default=0)
    return "take " + " or ".join(str(end) for end in ends if end)
