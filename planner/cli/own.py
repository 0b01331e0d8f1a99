"""`add` and the lists: what is your own, and what there is by name."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, say, show, show_json
from planner.cli.loading import VARIABLE

if TYPE_CHECKING:
    from planner.inputs.own.adding import Added

_LISTS = {
    "skus": "nodes that can be planned, ours and yours",
    "models": "models that can be trained or served",
    "grids": "grid regions with their carbon",
    "regions": "regions of AWS, Azure and Google Cloud, and yours: grid, PUE and WUE",
    "prices": "prices of nodes, rented hours and electricity",
    "traces": "traces of requests and hours of grids",
    "techniques": "published techniques: what each applies to and does, one alone as its card",
}


def add_commands(command: arguments.AddCommand) -> None:
    """Write facts of one's own, and list what there is."""
    add = command("add", run_add, "a GPU, model, region or price of your own, into a folder of facts")
    kinds = add.add_subparsers(title="what", required=True, metavar="WHAT")
    _gpu(_kind(kinds, "gpu", _add_gpu, "an accelerator from six numbers and the price of a node"))
    _model(_kind(kinds, "model", _add_model, "a model from its Hugging Face config.json"))
    _region(_kind(kinds, "region", _add_region, "a region from its factor or a file of hours"))
    _price(_kind(kinds, "price", _add_price, "the price of a node, a rented hour or electricity"))
    for what, about in _LISTS.items():
        listed = command(what, _run_list(what), about)
        listed.add_argument("words", nargs="*", metavar="NAME", help="words that a row must hold")
        listed.add_argument("--country", metavar="DE", help="of this country, by its two letters")
        listed.add_argument("--cloud", metavar="aws", help="of this provider: aws, azure, gcp")


def run_add(options: argparse.Namespace) -> int:
    """Write rows into the folder of your own facts; nothing is written where something is wrong."""
    from planner.answers.adding import added_record, added_text

    added: Added = options.adds(options, Path(options.folder or os.environ.get(VARIABLE) or "my-facts"))
    if options.json:
        show_json(added_record(added))
    else:
        show(added_text(added))
    for name in added.files:
        say(f"written: {added.folder / name}")
    return ANSWER


def _run_list(what: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        from planner.answers.lists import list_text, listed

        rows = listed(what, options.words, country=options.country, cloud=options.cloud)
        if options.json:
            show_json(rows)
            return ANSWER
        if rows:
            show(list_text(rows))
        say(f"{len(rows)} {what if len(rows) != 1 else what.removesuffix('s')}")
        return ANSWER if rows else NO_PLAN

    run.__doc__ = f"List {_LISTS[what]}."
    return run


def _kind(
    kinds: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    adds: Callable[[argparse.Namespace, Path], Added],
    about: str,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = kinds.add_parser(name, help=about, description=adds.__doc__)
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print as JSON")
    parser.add_argument(
        "--data", dest="folder", metavar="FOLDER", help="where to write; EVERFLEET_DATA, or my-facts"
    )
    parser.set_defaults(adds=adds)
    return parser


def _gpu(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the SKU, such as b300-own")
    for option, what in (
        ("--bf16", "dense 16-bit peak of one, '990 TFLOP/s'"),
        ("--memory", "of one, '141 GB'"),
        ("--memory-bandwidth", "of one, '4.8 TB/s'"),
        ("--link-bandwidth", "between those of a node, one way, '450 GB/s'"),
        ("--tdp", "power of one, '700 W'"),
        ("--price", "of a node, '300000 USD'"),
    ):
        parser.add_argument(option, required=True, metavar="QUANTITY", help=what)
    parser.add_argument(
        "--accelerators", type=arguments.count, required=True, metavar="N", help="those of a node"
    )
    parser.add_argument("--like", metavar="SKU", help="whose class fills the rest; the nearest")
    parser.add_argument("--title", default="", help="one line for reports")


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the model")
    parser.add_argument("config", type=Path, metavar="CONFIG", help="its config.json")


def _region(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the region, such as my-dc")
    parser.add_argument("--factor", metavar="QUANTITY", help="carbon of its electricity, '0.12 kg/kWh'")
    parser.add_argument(
        "--hourly", type=Path, metavar="FILE", help="or its hours: CSV with time and gCO2e/kWh"
    )
    parser.add_argument(
        "--signal",
        help="what it counts; what the file says, or average/life-cycle/production, as countries",
    )
    parser.add_argument("--year", type=arguments.whole, help="that the factor is of; this one")
    parser.add_argument("--pue", type=arguments.positive, help="of the building")
    parser.add_argument("--wue", metavar="QUANTITY", help="water on site, '0.2 L/kWh'")
    parser.add_argument("--price", metavar="QUANTITY", help="of electricity, '62 USD/MWh'")
    parser.add_argument("--country", default="", metavar="DE", help="two letters")
    parser.add_argument("--title", default="", help="one line for lists")


def _price(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "of", metavar="OF", help="a SKU, 'rent SKU', a region or grid (electricity), or a key of prices"
    )
    parser.add_argument("value", metavar="QUANTITY", help="'280000 USD', '2.9 USD/h', '62 USD/MWh'")
    parser.add_argument("--note", default="", help="where it is from; the day")


def _add_gpu(options: argparse.Namespace, folder: Path) -> Added:
    """Write the rows of an accelerator, its server and its SKU; what is not stated comes from a class."""
    from planner.inputs.own.adding import Gpu, add_gpu, catalogue_with

    said = {name: getattr(options, name) for name in Gpu.__dataclass_fields__}
    return add_gpu(Gpu(**said), folder, catalogue_with(folder))


def _add_model(options: argparse.Namespace, folder: Path) -> Added:
    """Copy the configuration of a model into the folder, where it is understood."""
    from planner.inputs.own.adding import add_model, catalogue_with

    return add_model(options.name, options.config, folder, catalogue_with(folder))


def _add_region(options: argparse.Namespace, folder: Path) -> Added:
    """Write a region with its grid, PUE, WUE and price of electricity."""
    from planner.inputs.own.adding import Place, add_region, catalogue_with

    said = {name: getattr(options, name) for name in Place.__dataclass_fields__}
    return add_region(Place(**said), folder, catalogue_with(folder))


def _add_price(options: argparse.Namespace, folder: Path) -> Added:
    """Write one price in the place of ours."""
    from planner.inputs.own.adding import add_price, catalogue_with

    return add_price(options.of, options.value, folder, catalogue_with(folder), options.note)
