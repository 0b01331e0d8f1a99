"""One plan from text to document, phase by phase, in a process of its own."""

from __future__ import annotations

import time

from benchmarks.clock import Record, peak_mb

GAP = 0.01


def plan_once(size: int, time_limit_s: float) -> Record:
    """Seconds of each phase, the size of the program, how the solve ended, and the peak of memory."""
    marks = [time.perf_counter()]
    phases: dict[str, float] = {}

    def done(phase: str) -> None:
        marks.append(time.perf_counter())
        phases[phase] = marks[-1] - marks[-2]

    from benchmarks.scenarios import COPIES, grown
    from planner.answers.plan.document import plan_document
    from planner.inputs.consistency import known_names
    from planner.inputs.loading import load_catalogue
    from planner.inputs.resolved import Inputs
    from planner.inputs.scenario import check_against, parse_scenario
    from planner.program.assembly import assemble
    from planner.program.plan import Plan
    from solver.answer import answer
    from solver.build import build

    text = grown(COPIES[size])
    done("import")
    scenario, catalogue = parse_scenario(text), load_catalogue()
    check_against(scenario, known_names(catalogue))
    done("read")
    inputs = Inputs(scenario, catalogue)
    assembled = assemble(inputs)
    done("candidates and coefficients")
    model = build(assembled.problem).model
    done("build")
    found = answer(assembled.problem, gap_fraction=GAP, time_limit_s=time_limit_s)
    done("solve and check")
    phases["solve and check"] -= phases["build"]  # the answer builds the program once more
    solved = found.status.has_plan
    if solved:
        plan = Plan(inputs, assembled, found, {}, None)
        _ = plan.ledger
        done("account")
        plan_document(plan)
        done("document")
    variables = model.variables()
    return {
        "size": size,
        "gap_limit_fraction": GAP,
        "time_limit_s": time_limit_s,
        "sites": len(scenario.sites),
        "SKUs": len(inputs.skus),
        "node groups": len(inputs.node_groups),
        "jobs, pools and services": len(scenario.training) + len(scenario.pools) + len(scenario.services),
        "candidates": assembled.candidates,
        "dropped before the program": assembled.dominated,
        "rows": len(model.constraints),
        "columns": len(variables),
        "whole columns": sum(each.cat == "Integer" for each in variables),
        "seconds": phases,
        "status": found.status.value,
        "gap_fraction": found.gap_fraction if solved else None,
        "peak_mb": peak_mb(),
    }
