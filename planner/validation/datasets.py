"""Where the files lie that some published rows are about, and that may not be shipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from planner.inputs.loading import data_folder
from planner.validation.forms import NotUnderstood


@dataclass(frozen=True, slots=True)
class Dataset:
    """A file of somebody else's, by the name of its folder, and where it is published.

    A file of several is written with what tells them apart in braces.
    """

    folder: str
    file: str
    home: str


DATASETS = {
    "titan": Dataset("titan_gpu_life", "gc_summary_loc.csv", "github.com/olcf/TitanGPULife"),
    "lanl": Dataset(
        "lanl_failures",
        "LA-UR-05-7318-failure-data-1996-2005.csv.xz",
        "github.com/Derek-Jones/ESEUR-code-data, reliability/",
    ),
    "infinitehbd": Dataset("samples", "infinitehbd-outages.csv", "shipped"),
    "reliasoft": Dataset("samples", "reliasoft-weibull.csv", "shipped"),
    "electricitymaps": Dataset(
        "grid_hourly_electricitymaps", "{zone}_{year}_hourly.csv", "electricitymaps.com, yearly files (ODbL)"
    ),
    "owid": Dataset(
        "grid_yearly_owid_ember", "carbon-intensity-electricity.csv", "ourworldindata.org (CC BY 4.0)"
    ),
    "sc23": Dataset("grid_hourly_sc23", "{zone}_{year}.csv", "github.com/boringlee24/sc23-sustainability"),
}

_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("folders", default=())


class NeedsData(Exception):
    """The row is about a file that is not here; the message says which, and where to put it."""


@contextmanager
def looking_in(folders: Sequence[Path]) -> Iterator[None]:
    """Look for data sets in these folders, and in the shipped one."""
    token = _FOLDERS.set(tuple(folders))
    try:
        yield
    finally:
        _FOLDERS.reset(token)


def sibling_folders(rows: Path) -> list[Path]:
    """Where data may lie that a file of rows is about: with it, or in `data` there or one folder up."""
    here = rows.absolute().parent
    return [here, here / "data", here.parent, here.parent / "data"]


def dataset_path(name: str, **parts: object) -> Path:
    """The file of a data set, or the one of several that the parts tell.

    Raises:
        NeedsData: it is in none of the folders.
    """
    wanted = DATASETS[name]
    file = wanted.file.format(**parts)
    for folder in (*_FOLDERS.get(), data_folder()):
        for path in (folder / wanted.folder / file, folder / file):
            if path.is_file():
                return path
    raise NeedsData(
        f"needs {wanted.folder}/{file}, which may not be shipped: fetch it from {wanted.home} and "
        "name the folder that holds it with --data"
    )


def named_path(name: str) -> Path:
    """A file that a row names, relative to a folder of data.

    Raises:
        NeedsData: it is in none of the folders.
        NotUnderstood: the name leads out of them.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise NotUnderstood(f"a file is named relative to the folder of data, got '{name[:60]}'")
    for folder in (*_FOLDERS.get(), data_folder() / "samples"):
        for path in (folder / name, folder / Path(name).name):
            if path.is_file():
                return path
    raise NeedsData(f"needs {name[:80]}, which is not shipped: name the folder that holds it with --data")
