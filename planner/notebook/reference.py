"""`fit`, `validate`, `facts` and the lists: what a log says, how right everfleet is, what it knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from planner.notebook.answer import Answer
from planner.notebook.arguments import Quantity, Watch, given_in_python, in_python, names


class _List(Protocol):
    """A function that lists rows of the catalogue."""

    def __call__(
        self,
        *words: str,
        country: str | None = None,
        cloud: str | None = None,
        data: str | Path | None = None,
    ) -> Answer: ...


@in_python
def fit(
    log: str | Path,
    *,
    mapping: str | Path | None = None,
    fleet_size: int | None = None,
    severities: str | Iterable[str] = (),
    with_planned: bool = False,
    name: str = "",
    accelerators_per_node: int | None = None,
    interval_fraction: Quantity = 0.90,
    spare_confidence_fraction: Quantity = 0.99,
    period_d: Quantity = 91.0,
    review_d: Quantity = 7.0,
    covariates: str | Iterable[str] | None = None,
    cross_check: bool = False,
    prior: str = "prior",
    write_min: Quantity | None = None,
    restart_min: Quantity | None = None,
    watch: Watch = None,
) -> Answer:
    """What a failure or job log says: rate, lifetimes, spares, forecast: `everfleet fit`.

    >>> mine = ef.fit("data/samples/slurm-simulated.txt", interval_fraction="90 %")
    >>> mine.trace["rate"].unit
    '1/h'
    >>> mine["mttf"]["nodes"][:3]
    [1, 8, 32]

    Args:
        log: sacct text, an event or life table, Xid lines; packed too.
        mapping: a file that says what its columns mean; else what fits the header.
        fleet_size: nodes watched, with those that never failed.
        severities: counts failures of these alone.
        with_planned: whether planned stops count as failures.
        name: of the fleet; that of the file.
        accelerators_per_node: 8.
        interval_fraction: what intervals are to hold.
        spare_confidence_fraction: share of time that spares suffice.
        period_d: length of the periods compared.
        review_d: days until the spares are sized again.
        covariates: for hazard ratios; all with few levels where it is None.
        cross_check: whether lifelines works out lifetimes and ratios too; takes seconds.
        prior: published fleet to start from, "none", or "prior": all of them.
        write_min: blocking checkpoint write, for ETTR by size.
        restart_min: restart after a failure, for ETTR by size.
        watch: called with each message on the progress.

    Raises:
        InputError: every problem of the log, the mapping or the question.
    """
    from planner.answers.failures import FitQuestion, fit_document, open_log
    from planner.notebook.other_answers import fit_made

    said = given_in_python(locals(), FitQuestion)
    held = open_log(
        Path(log),
        None if mapping is None else Path(mapping),
        fleet_size=fleet_size,
        severities=names(severities),
        with_planned=with_planned,
    )
    question = FitQuestion(**said)
    return fit_made(fit_document(held, question, watch=watch))


@in_python
def validate(*files: str | Path, data: str | Path | Iterable[str | Path] = ()) -> Answer:
    """Our values next to published ones: `everfleet validate`.

    >>> ours = ef.validate("data/published/carbon.csv")
    >>> sorted(set(ours["rows"]["status"]))
    ['inside', 'not run']

    Args:
        files: CSV files of published rows; the shipped ones where none is named.
        data: folders of files that may not be shipped; rows about them are not run without.

    Raises:
        InputError: a file cannot be read as such rows, or a folder does not exist.
    """
    from planner.notebook.other_answers import validation_made
    from planner.validation import validate as set_next_to

    folders = [data] if isinstance(data, str | Path) else data
    return validation_made(set_next_to([Path(file) for file in files], [Path(folder) for folder in folders]))


@in_python
def facts(*words: str, data: str | Path | None = None) -> Answer:
    """Every fact with value, range, kind and source: `everfleet facts`.

    >>> known = ef.facts("pue.default")
    >>> known["facts"][0]["value"], known["facts"][0]["low"], known["facts"][0]["high"]
    (1.3, 1.08, 1.58)
    >>> known.explain("pue.default").facts()["kind"]
    ['assumed']

    Args:
        words: that the key, note or source must hold.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.
    """
    from planner.answers.facts import facts_holding
    from planner.notebook.other_answers import facts_made

    return facts_made(facts_holding(words), " ".join(words))


def _list_of(
    what: str,
    about: str,
    snippet: str,
    words: str = "that a row must hold.",
    refused: str = "there is no such country or cloud.",
) -> _List:
    """The function that lists one kind of row of the catalogue."""

    def listing(
        *words: str, country: str | None = None, cloud: str | None = None, data: str | Path | None = None
    ) -> Answer:
        from planner.answers.lists import listed
        from planner.notebook.other_answers import list_made

        return list_made(what, listed(what, words, country=country, cloud=cloud))

    listing.__name__ = listing.__qualname__ = what
    listing.__doc__ = f"""{about}: `everfleet {what}`.

    {snippet}

    Args:
        words: {words}
        country: two letters.
        cloud: aws, azure or gcp.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: {refused}
    """
    return in_python(listing)


skus = _list_of(
    "skus",
    "SKUs: nodes that can be planned",
    """>>> ef.skus("h100")["skus"]["sku"][0]
    'h100-8'""",
)
models = _list_of(
    "models",
    "Models that can be trained or served",
    """>>> "llama-3.1-8b" in ef.models()["models"]["model"]
    True""",
)
grids = _list_of(
    "grids",
    "Grid regions with their carbon",
    """>>> ef.grids(country="DE")["grids"]["grid"][0]
    'de'""",
)
regions = _list_of(
    "regions",
    "Regions of AWS, Azure and Google Cloud, and your own: grid, PUE and WUE",
    """>>> ef.regions("frankfurt", cloud="azure")["regions"]["region"]
    ['azure/germanywestcentral']""",
)
prices = _list_of(
    "prices",
    "Prices of nodes, rented hours and electricity",
    """>>> ef.prices("server.hgx-h100")["prices"]["unit"][0]
    'USD'""",
)
traces = _list_of(
    "traces",
    "Traces of requests, and hours of grids",
    """>>> "gb-2021" in ef.traces()["traces"]["trace"]
    True""",
)
techniques = _list_of(
    "techniques",
    "Published techniques: scope, effect with its range, quality",
    """>>> card = ef.techniques("layerskip")["techniques"][0]
    >>> card["handle"], card["low"], card["times_less"], card["high"]
    ('decode_time', 1.34, 1.81, 2.16)""",
    words="that a row must hold; the name of one gives it alone.",
    refused="techniques are of no country or cloud.",
)
