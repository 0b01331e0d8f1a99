"""`export`: answers in formats of others."""

from __future__ import annotations

from pathlib import Path

from planner.notebook.answer import Answer
from planner.notebook.arguments import in_python
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
        written_as: focus, frictionless, kserve, kueue, slurm of a plan; sci, eu-model-form, hugging-face of a
            job; croissant of facts.
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
