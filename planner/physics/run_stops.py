"""What sends a training run back next to failed nodes: loss spikes and silent corruption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.inputs.resolved import Inputs
from planner.trace.quantities import Fact, Traced, chosen, convert, derive
from reliability.rollback import corruptions_per_h, joined_mttf_h, mean_rolled_back_h

Facts = Callable[[str], Fact]


@dataclass(frozen=True)
class Cause:
    """How often a cause sends a run back in an hour, and how much stored work that throws away."""

    per_h: Traced
    back_h: Traced


@dataclass(frozen=True)
class RunStops:
    """All that stops a run: the mean time between stops, and the causes that throw stored work away.

    None stands for a cause that was not asked for, or for nothing of that kind.
    """

    mttf_h: Traced
    others_per_h: Traced | None = None
    rolled_back_h: Traced | None = None
    check_fraction: Traced | None = None
    spikes: Cause | None = None
    found: Cause | None = None

    def renewal(self) -> dict[str, Traced]:
        """What the renewal equations want of it."""
        return {} if self.rolled_back_h is None else {"rolled_back_h": self.rolled_back_h}


def loss_spikes(inputs: Inputs) -> Traced | None:
    """Loss spikes of a run an hour, where the scenario states them."""
    stated = inputs.scenario.reliability.loss_spikes_per_h
    return None if stated is None else inputs.yours("reliability.loss_spikes", stated, "1/h")


def rollback(inputs: Inputs) -> Traced | None:
    """Stored work that goes with a loss spike, where the scenario states it."""
    stated = inputs.scenario.reliability.rollback_h
    return None if stated is None else inputs.yours("reliability.rollback", stated, "h")


def run_stops(
    fact: Facts,
    failures_mttf_h: Traced,
    accelerators: Traced,
    *,
    spikes_per_h: Traced | None,
    spike_back_h: Traced | None,
    detected: bool,
) -> RunStops:
    """Stops of a run on some accelerators.

    Args:
        fact: looks a fact up.
        failures_mttf_h: mean time between failures of the run's nodes.
        accelerators: of the whole run.
        spikes_per_h: loss spikes of the run an hour; None for none.
        spike_back_h: stored work that goes with each; None for the catalogue's.
        detected: whether results are checked for silent corruption.
    """
    spikes = found = None
    if spikes_per_h is not None:
        spikes = Cause(spikes_per_h, spike_back_h or convert(fact("reliability.loss_spike.rollback"), "h"))
    if detected:
        rate = _corruptions(fact, accelerators, fact("reliability.corruption.found"))
        found = Cause(rate, convert(fact("reliability.corruption.delay"), "h"))
    if spikes is None and found is None:
        return RunStops(failures_mttf_h)
    no_rate, no_work = chosen("per_h", 0.0, "not asked for", "1/h"), chosen("back_h", 0.0, "not asked for")
    one, other = spikes or Cause(no_rate, no_work), found or Cause(no_rate, no_work)
    others = (one.per_h + other.per_h).named(
        "other_stops_per_h", "How often a run goes back next to the failures of its nodes"
    )
    mttf = derive(joined_mttf_h, mttf_h=failures_mttf_h, other_stops_per_h=others)
    back = derive(
        mean_rolled_back_h,
        mttf_h=mttf,
        spikes_per_h=one.per_h,
        spike_back_h=one.back_h,
        corruptions_per_h=other.per_h,
        corruption_back_h=other.back_h,
    )
    check = fact("reliability.corruption.check_time") if detected else None
    return RunStops(mttf, others, back, check, spikes, found)


def unfound_per_h(fact: Facts, accelerators: Traced, *, detected: bool) -> Traced:
    """Silent corruptions of a run an hour that nobody notices."""
    missed: Traced = chosen("missed_fraction", 1.0, "nothing is checked")
    if detected:
        missed = (1.0 - fact("reliability.corruption.found")).named(
            "missed_fraction", "Share of silent corruptions that checks do not find"
        )
    return _corruptions(fact, accelerators, missed)


def _corruptions(fact: Facts, accelerators: Traced, share: Traced) -> Traced:
    return derive(
        corruptions_per_h,
        accelerators=accelerators,
        corruptions_per_accelerator_h=fact("reliability.corruption.rate"),
        share_fraction=share,
    )
