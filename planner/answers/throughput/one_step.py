"""One training step on some nodes of one kind: its fastest layout and where its time goes."""

from __future__ import annotations

from dataclasses import dataclass

from planner.answers.throughput.setting import Setting
from planner.answers.throughput.training import Work, divisible, layout_of
from planner.performance.bundles import SplitLimits
from planner.performance.layouts import Layout
from planner.physics.run_speed import throughput
from planner.physics.training_options import LAYOUT
from planner.trace.quantities import Parts, Traced, chosen


@dataclass(frozen=True)
class StepRun:
    """A step on some nodes, as if all of them stood at one site."""

    nodes: int
    layout: Layout
    batch: int
    arguments: dict[str, Traced]
    accelerators: Traced
    step: Parts

    @property
    def micro_batches(self) -> float:
        """Micro-batches of a step in each copy."""
        return self.batch / (self.layout.dp * self.layout.micro_batch)


def step_of(setting: Setting, work: Work, nodes: int, limits: SplitLimits | None) -> StepRun | str:
    """The fastest layout on so many nodes and its step, or why there is none."""
    each = int(setting.inputs.server("accelerators")[0].value)
    batch = divisible(work.batch, nodes * each)
    layout = layout_of(setting, work, 0, nodes * each, batch, limits)
    arguments = work.arguments[0]
    if isinstance(layout, str) or isinstance(arguments, str):
        return str(layout)
    own = dict(arguments)
    for name in LAYOUT:
        own[name] = chosen(name, float(getattr(layout, name)), "the fastest layout that fits in memory")
    own["global_batch"] = chosen("global_batch", float(batch), "sequences of a step, as requested")
    own["sequence_tokens"] = work.sequence
    accelerators = chosen("accelerators", float(nodes * each), "of the sites that take part")
    step, _ = throughput(own, accelerators)
    return StepRun(nodes, layout, batch, own, accelerators, step)
