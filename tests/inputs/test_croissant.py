"""The size of a data set from its Croissant description, and a job that keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import everfleet as ef
from planner.answers.job.footprint import footprint_of
from planner.answers.job.setting import setting_of
from planner.inputs.croissant import read_data_set
from planner.inputs.job.reading import load_job
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.trace.errors import InputError


def described(*sizes: Any, **more: Any) -> dict[str, Any]:
    """A data set of files of these sizes, a set of files in the first, and a file that an archive holds."""
    files: list[dict[str, Any]] = [
        {"@type": "cr:FileObject", "@id": f"f{at}", "name": f"f{at}", "contentSize": size}
        for at, size in enumerate(sizes)
    ]
    inside = {"@type": "cr:FileObject", "@id": "in", "contentSize": "9 TB", "containedIn": {"@id": "f0"}}
    files += [
        inside,
        {"@type": "cr:FileSet", "@id": "set", "containedIn": {"@id": "f0"}, "includes": "*.jpg"},
    ]
    return {"@type": "sc:Dataset", "name": "pictures", "distribution": files} | more


def write(folder: Path, held: Any, name: str = "croissant.json") -> Path:
    path = folder / name
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("size", "gb"),
    [
        ("1500000000 B", 1.5),
        ("2 GB", 2.0),
        ("1.5TB", 1500.0),
        ("1 GiB", 2**30 / 1e9),
        (2_000_000, 0.002),
        ("3.2e3 MB", 3.2),
    ],
)
def test_sizes_of_files_add_up_without_what_archives_hold(tmp_path: Path, size: Any, gb: float) -> None:
    found = read_data_set(write(tmp_path, described(size, "1 GB")))

    assert (found.name, found.files) == ("pictures", 2)
    assert found.size_gb == pytest.approx(gb + 1.0)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (described("1 GB", None), "1 of its 2 files have no contentSize that is understood, such as 'f1'"),
        (described("plenty"), "such as 'f0'"),
        (described(True), "such as 'f0'"),
        (described(), "come to 0 GB"),
        ({"distribution": [{"@type": "cr:FileSet", "includes": "*.jpg", "name": "all"}]}, "such as 'all'"),
        ({"distribution": [3]}, "is no Croissant data set"),
        ([], "is no Croissant data set"),
        ("{", "is no JSON"),
        ("[" * 100_000, "nested deeper"),
    ],
)
def test_a_description_without_a_whole_size_is_refused(tmp_path: Path, held: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_data_set(write(tmp_path, held))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_data_set(tmp_path / "none.json")


def test_our_own_export_is_read_back(tmp_path: Path) -> None:
    """What `facts --as croissant` writes says the bytes of its table."""
    exported = ef.export(ef.facts("grid.us."), "croissant")
    exported.save(tmp_path)
    found = read_data_set(tmp_path / "croissant.json")

    assert found.size_gb == pytest.approx((tmp_path / "facts.csv").stat().st_size / 1e9)


JOB = """title = "keeping"
[site]
grid = "us"
pue = 1.1
[storage]
{said}
duration = "12 month"
medium = "hdd"
"""


def stored(folder: Path, said: str) -> Any:
    path = write(folder, JOB.format(said=said), "job.toml")
    catalogue = load_catalogue()
    return footprint_of(setting_of(load_job(path, catalogue), catalogue)).phases[0]


def test_a_job_keeps_its_data_set(tmp_path: Path) -> None:
    """A described set of 500 TB takes as much as 500 TB that are stated, and says whose files they are."""
    write(tmp_path, described("499 TB", "1 TB"))
    one, other = stored(tmp_path, 'dataset = "croissant.json"'), stored(tmp_path, 'amount = "500 TB"')

    assert one.it_kwh.value == pytest.approx(other.it_kwh.value)
    assert one.said == f"{other.said}, 2 files of pictures"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ('dataset = "croissant.json"\namount = "1 TB"', "storage.amount: is next to dataset"),
        ("copies = 2", "storage.amount: is missing"),
    ],
)
def test_a_job_states_one_of_both(tmp_path: Path, said: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        stored(tmp_path, said)
