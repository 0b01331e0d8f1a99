"""`scaling`: what a wanted loss takes, by runs of one's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from planner.notebook.answer import Answer, Content
from planner.notebook.arguments import in_python


@in_python
def scaling(
    runs: str | Path,
    *,
    target: float,
    axis: str | None = None,
    model: str | None = None,
    data: str | Path | None = None,
) -> Answer:
    """What a wanted loss takes, by a power law through your runs: `everfleet scaling`.

    >>> found = ef.scaling("data/samples/scaling-runs.csv", target=2.1)
    >>> f"{found['fits'].to_pandas()['needed'][0]:.2g}"
    '1.3e+12'

    Args:
        runs: CSV with a column tokens, compute or parameters, and one of losses.
        target: loss that is wanted.
        axis: which column, where there are several.
        model: of the catalogue, whose tokens a compute budget is stated in.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the file is not understood, or no law can be told from it.
    """
    from planner.answers.scaling import scaling_document, scaling_text
    from planner.notebook.kinds import plain_kind
    from planner.report.cells import opened_at
    from planner.trace.records import tables_in

    document = scaling_document(Path(runs), target=target, axis=axis, model=model)
    tables, said = tables_in(document), tuple(document["headline"])
    kind = plain_kind("scaling", scaling_text, document["title"], said, tables)
    content = Content(document["title"], said, [], tables)
    return Answer(content, document, kind, open_cell=partial(opened_at, document))
