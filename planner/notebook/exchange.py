"""`export`, `telemetry` and `track`: formats of others, what monitoring says, what came of a plan."""

from __future__ import annotations

from pathlib import Path

from planner.notebook.answer import Answer
from planner.notebook.arguments import Quantity, in_python, quantity
from planner.trace.errors import InputError


@in_python
def export(named: str | Path | Answer, written_as: str, *, store: str | None = None) -> Answer:
    """An answer in a published format: the text of each file: `everfleet export --as`.

    >>> card = ef.export(ef.job_carbon("bloom"), "hugging-face")
    >>> card["files"]["file"]
    ['README.md']
    >>> card["files"][0]["text"].splitlines()[1]
    'co2_eq_emissions:'

    Args:
        named: the answer of `plan`, `job_carbon` or `facts`; or a folder, a file or a digest, as in `load`.
        written_as: dynamo, focus, frictionless, kserve, kueue, llm-d, slurm of a plan; sci, eu-model-form,
            hugging-face of a job; croissant of facts.
        store: where saved answers lie: a SQLite file or a URL; else as the command finds it.

    Raises:
        InputError: there is no such format, or the answer lacks what it needs.
    """
    from planner.notebook.other_answers import export_made
    from planner.notebook.plans import load
    from planner.report.standards import write_as

    answer = named if isinstance(named, Answer) else load(named, store=store)
    if not isinstance(answer._document, dict):
        from planner.answers.facts import facts_document, facts_holding

        if answer.kind != "facts":
            raise InputError(f"{answer!r} is a list: export a plan, a job or facts")
        known = {row["key"] for row in answer._document}
        document = facts_document([fact for fact in facts_holding(()) if fact.key in known])
    else:
        document = answer._document
    return export_made(written_as, write_as(document, written_as))


@in_python
def telemetry(
    *files: str | Path,
    name: str = "own",
    interval_s: Quantity | None = None,
    folder: str | Path | None = None,
) -> Answer:
    """What monitoring of real nodes says of facts, and what is missing in it: `everfleet telemetry`.

    >>> seen = ef.telemetry("data/samples/dcgm-scrape.prom.gz")
    >>> seen["nodes"]["sku"][0]
    'h100-8'
    >>> seen["facts"]["key"][0]
    'accelerator.h100-sxm-80gb.idle_power'

    Args:
        files: Prometheus JSON or text, OTLP JSON, sacct --json; packed too.
        name: of the fleet, under which its failures are kept.
        interval_s: between scrapes whose samples have no time.
        folder: of your own facts, to write these into; else they are only shown.

    Raises:
        InputError: a file cannot be read, or a fact cannot be written.
    """
    from planner.answers.telemetry import plain_document, telemetry_answer
    from planner.notebook.other_answers import telemetry_made

    every = quantity(interval_s, "interval_s")
    place = None if folder is None else Path(folder)
    _, document, _ = telemetry_answer([Path(file) for file in files], name, every, place)
    return telemetry_made(plain_document(document))


@in_python
def track(
    named: str | Path,
    *files: str | Path,
    scenario: str | Path | None = None,
    again: bool = False,
    interval_s: Quantity | None = None,
    store: str | None = None,
) -> Answer:
    """A plan next to what happened: what has left its band, and the scenario from here: `everfleet track`.

    >>> folder = ef.plan("one-training-job", baselines=False).save("quarter")
    >>> with open("actual.csv", "w") as file:
    ...     print("month,measure,of,value", "2027-02,carbon,,900 t", sep=chr(10), file=file)
    >>> ef.track("quarter", "actual.csv")["rows"]["within"]
    ['no']

    Args:
        named: the folder or the JSON of a plan, or the first characters of a saved one's digest.
        files: CSV of month, measure, of, value; rows of FOCUS; monitoring as in `telemetry`.
        scenario: that the plan was made from, where the plan is not a saved one.
        again: whether to make the scenario that plans from here: `answer["scenario"][0]["text"]`.
        interval_s: between scrapes without times.
        store: where saved plans lie: a SQLite file or a URL; else as the command finds it.

    Raises:
        InputError: the plan or a file cannot be used, or the scenario from here needs more.
    """
    from planner.answers.saved.tracking import tracked
    from planner.notebook.other_answers import track_made

    document, text, notes = tracked(
        str(named),
        [Path(file) for file in files],
        store=store,
        scenario=None if scenario is None else Path(scenario),
        again=again,
        interval_s=quantity(interval_s, "interval_s"),
    )
    return track_made(document, text, notes)
