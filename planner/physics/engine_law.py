"""The law of engines that write tokens: what replicas carry and draw at any load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.performance.bundles import Requests, worked_on
from planner.performance.capacity import replica_capacity
from planner.performance.ceilings import check_ceiling, request_flop
from planner.performance.engine import matrix_parameters, with_values
from planner.physics.power_caps import Modes
from planner.physics.replica_questions import Arguments, replica_arguments, some_rows
from planner.physics.serving_options import layout_columns
from planner.physics.serving_power import drawn_accelerator_kw, slowed_arguments
from planner.physics.training_options import FREELY
from planner.trace.quantities import Parts, Traced, chosen, derive, derive_parts


@dataclass(frozen=True)
class EngineLaw:
    """What replicas of engines that write tokens do at any load; one row for each."""

    inputs: Inputs
    service: NDArray[np.intp]
    sku: NDArray[np.intp]
    size: NDArray[np.intp]
    groups: NDArray[np.intp]
    modes: Modes
    arguments: Arguments

    @property
    def largest_batch(self) -> Traced:
        """Requests that each replica holds in all its groups."""
        groups = chosen("groups", self.groups.astype(float), "enumerated: groups of all stages")
        limit: Traced = self.arguments["limits"].batch_limit
        return (limit * groups).named("held_in_all", "Requests that a replica holds in all its groups")

    def capacity(self, arrival_scv: Traced, index: NDArray[np.intp] | None = None) -> Parts:
        """Planned load and latencies there; of some rows where `index` says which."""
        arguments = self.arguments if index is None else some_rows(self.arguments, index)
        return derive_parts(replica_capacity, arrival_scv_ratio=arrival_scv, **arguments)

    def pooled(self, replicas: Traced) -> EngineLaw:
        """The same where so many replicas take requests from one queue."""
        limits = replace(self.arguments["limits"], pooled=replicas)
        return replace(self, arguments={**self.arguments, "limits": limits})

    def slowed(self, modes: Modes, arrival_scv: Traced) -> EngineLaw:
        """The same with clocks that are locked, or that power caps lower."""
        slower = slowed_arguments(self.inputs, self.service, self.sku, modes, self.arguments, arrival_scv)
        return replace(self, modes=modes, arguments=slower)

    def accelerator_kw(self, arrival_scv: Traced, rate_per_s: Traced) -> Traced:
        """Power of an accelerator at a load or several (last axis), within its cap and at its clock."""
        return drawn_accelerator_kw(
            self.inputs, self.service, self.sku, self.modes, self.arguments, arrival_scv, rate_per_s
        )

    def check(self, limit_per_s: NDArray[np.float64]) -> None:
        """Refuse a load beyond the dense peak."""
        check_peak(self.inputs, self.service, self.sku, self.size, limit_per_s, self.arguments)


def engine_law(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    size: NDArray[np.intp],
    groups: NDArray[np.intp],
    stages: NDArray[np.intp],
    requests: Requests | None = None,
) -> EngineLaw:
    """The law of replicas of services on SKUs; of other requests than theirs where those are given."""
    arguments = replica_arguments(inputs, service, sku, *layout_columns(size, groups, stages), requests)
    freely = Modes.alike(FREELY, service.shape)
    return EngineLaw(inputs, service, sku, size, groups * stages, freely, arguments)


def check_peak(
    inputs: Inputs,
    service: NDArray[np.intp],
    sku: NDArray[np.intp],
    size: NDArray[np.intp],
    limit_per_s: NDArray[np.float64],
    arguments: Arguments,
) -> None:
    """Refuse a load of replicas beyond the dense peak: every answer on serving asks here.

    What a prefix cache knows of a prompt is not multiplied again, nor what a technique spares.
    """
    guesses = arguments.get("guesses")
    requests = worked_on(
        with_values(arguments["requests"]), None if guesses is None else with_values(guesses)
    )
    parameters = derive(matrix_parameters, model=arguments["model"])
    limit, peak_tflop_per_s, multiplied, head, prompt, answer = (
        np.broadcast_to(np.asarray(value, dtype=np.float64), service.shape)
        for value in (
            limit_per_s,
            arguments["chip"].peak_tflop_per_s.value,
            parameters.value,
            arguments["model"].head_parameters.value,
            requests.input_tokens,
            requests.output_tokens,
        )
    )
    flop = request_flop(
        active_parameters=multiplied, head_parameters=head, input_tokens=prompt, output_tokens=answer
    )
    services = [inputs.scenario.services[i] for i in service]
    check_ceiling(
        flop_per_s=limit * flop,
        peak_flop_per_s=size * peak_tflop_per_s * 1e12,
        what=[
            f"{one.place}: {one.model} in {one.precision} on "
            f"{size[k]} chips of {inputs.skus[sku[k]].name}, {limit[k]:.6g} "
            f"requests/s of {prompt[k]:.5g} tokens in and {answer[k]:.5g} out"
            for k, one in enumerate(services)
        ],
    )
