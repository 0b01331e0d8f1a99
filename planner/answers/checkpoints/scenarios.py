"""A question about checkpoints: of a job that is described, or of a scenario's jobs, size by size."""

from __future__ import annotations

from planner.answers.checkpoints.document import checkpoint_document, document_of
from planner.answers.checkpoints.policies import policies_of
from planner.answers.checkpoints.question import (
    Terms,
    fleets,
    terms_of_job,
    with_failures,
)
from planner.answers.checkpoints.rows import best_policies, optimum_rows, with_steps
from planner.answers.checkpoints.setting import setting_of
from planner.inputs.consistency import with_cards
from planner.inputs.fits import fit_of, is_fit, no_fleet
from planner.inputs.job_question import AS_USUAL, CheckpointQuestion
from planner.inputs.loading import load_catalogue
from planner.inputs.question_fields import flag, out_of_range
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, TrainingJob
from planner.trace.currency import currency_record
from planner.trace.errors import InputError
from planner.trace.quantities import Traced, convert
from planner.trace.records import Record

# What a scenario speaks for.
STATED = ("model", "storage", "restart_min", "grid", "asynchronous", "spare_confidence_fraction")
STOPS = (
    *("loss_spikes_per_month", "rollback_min", "detect_corruption"),
    *("slow_nodes_fraction", "slowdown_factor", "step_spread_fraction"),
)


def checkpoint_answer(
    question: CheckpointQuestion, scenario: Scenario | None = None, *, changed: bool = False
) -> Record:
    """The document of a job that the question describes, or of the training jobs of a scenario.

    Args:
        question: the job, and how long and how often it runs.
        scenario: whose jobs are meant, where there is one.
        changed: whether changes of a scenario were stated.

    Raises:
        InputError: the question says what the scenario says, or is about a scenario that is not named.
    """
    if scenario is None:
        for name, is_stated in (("job", question.job is not None), ("set", changed)):
            if is_stated:
                raise InputError(f"--{name} is about a scenario: name one")
        return checkpoint_document(question)
    if stated := question.said(*STATED) | {name: one for name, one in question.said(*STOPS).items() if one}:
        flags = ", ".join(flag(name, CheckpointQuestion) for name in stated)
        raise InputError(f"the scenario says what {flags} would: leave it out, or use --set")
    return scenario_document(scenario, question)


def scenario_document(scenario: Scenario, question: CheckpointQuestion = AS_USUAL) -> Record:
    """Every training job of a scenario, size by size; with a SKU and a number of nodes, that size in full.

    Model, storage, restart, failures, repair, spares, prices and the site's grid are the scenario's, in its
    first period, with nodes as old as they are then. A SKU that may be at several sites is taken at the first
    of them. Whether a size fits in memory is the plan's to say.

    Raises:
        InputError: no such job, SKU or fleet, or the job may not use the SKU.
    """
    inputs = Inputs(scenario, with_cards(scenario, load_catalogue()))
    sku, nodes = question.sku, question.nodes
    known, failures = fleets(inputs.catalogue), question.failures
    fleet = failures if failures is None or isinstance(failures, str) else fit_of(failures, "the fit")
    if isinstance(fleet, str) and not is_fit(fleet) and fleet not in known:
        raise InputError(no_fleet(fleet, known))
    stated = question.said("queue_min", "storage_others_fraction", "nodes")
    if wrong := [f"{option}: {text}" for option, text in out_of_range(CheckpointQuestion, stated)]:
        raise InputError("\n".join(wrong))
    sections = []
    for each in _jobs(scenario, question.job):
        places = _places(inputs, each, sku)
        terms = {name: terms_of_job(inputs, each, group, question) for name, group in places.items()}
        if fleet is not None:
            terms = {name: with_failures(one, fleet) for name, one in terms.items()}
        sites = {name: inputs.sites[site].name for name, (_, site) in places.items()}
        sizes = each.nodes if nodes is None else (nodes,)
        lines = {(name, size): _line(terms[name], name, size) for name in places for size in sizes}
        rows = [{"sku": name, "site": sites[name], **line} for (name, _), (line, _) in lines.items()]
        why = {f"{name}.{size}": one for (name, size), (_, one) in lines.items()}
        section: Record = {
            "name": each.name,
            "model": each.model,
            "stated": each.checkpoint,
            **with_steps({"sizes": rows}, why),
        }
        if sku is not None and nodes is not None:
            named = {
                "failures": getattr(fleet, "name", fleet) or scenario.reliability.failures or "scenario",
                "grid": sites[sku],
                "job": each.name,
            }
            section["document"] = document_of(terms[sku], sku, nodes, named, question)
        sections.append(section)
    rate = currency_record(inputs.currency)
    for section in sections:
        if "document" in section:
            section["document"] |= rate
    return {"everfleet_checkpoints": 1, "scenario": scenario.title, "jobs": sections, **rate}


def _line(terms: Terms, sku: str, nodes: int) -> tuple[Record, Traced]:
    """One size on one SKU: the policy that loses least time, what the stated one does, and why."""
    setting = setting_of(terms, sku, nodes)
    optima, least = optimum_rows(policies_of(setting))
    winners = {one["objective"]: one["policy"] for one in best_policies(least)}
    at = {(one["policy"], one["objective"]): one for one in optima}
    stated = at["asynchronous" if terms.asynchronous else "blocking", "time"]
    best = at[winners["time"], "time"]
    line = {
        "nodes": setting.nodes,
        "mttf_h": setting.mttf_h,
        "write_min": convert(setting.storage_write_h, "min"),
        "stated_interval_min": stated["interval_min"],
        "stated_ettr_fraction": stated["ettr_fraction"],
        **{name: value for name, value in best.items() if name != "objective"},
        "money_policy": winners["money"],
        "money_interval_min": at[winners["money"], "money"]["interval_min"],
        "carbon_policy": winners["carbon"],
        "carbon_interval_min": at[winners["carbon"], "carbon"]["interval_min"],
    }
    return line, least[f"{winners['time']}.time"]


def _jobs(scenario: Scenario, job: str | None) -> tuple[TrainingJob, ...]:
    names = [each.name for each in scenario.training]
    if not names:
        raise InputError(f"scenario '{scenario.title}' has no training job: there is nothing to checkpoint")
    if job is not None and job not in names:
        raise InputError(
            f"no training job '{job}' in scenario '{scenario.title}'; it has: {', '.join(names)}"
        )
    return tuple(each for each in scenario.training if job in (None, each.name))


def _places(inputs: Inputs, job: TrainingJob, sku: str | None) -> dict[str, tuple[int, int]]:
    """SKU and first site of each SKU that the job may use."""
    sites = [site.name for site in inputs.sites]
    found: dict[str, tuple[int, int]] = {}
    for index, site in inputs.node_groups:
        name = inputs.skus[index].name
        allowed = (job.skus is None or name in job.skus) and (job.sites is None or sites[site] in job.sites)
        if allowed and sku in (None, name):
            found.setdefault(name, (index, site))
    if not found:
        raise InputError(
            f"training.{job.name}: " + (f"may not use SKU '{sku}'" if sku else "no SKU at any of its sites")
        )
    return found
