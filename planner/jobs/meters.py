"""Metered files: the energy of a phase as a meter saw it, and the host where it did not see that."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from planner.catalogue import Catalogue
from planner.errors import InputError
from planner.jobs.equations import held_node_h, hosted_it_kwh
from planner.jobs.parts import Work
from planner.jobs.setting import Setting
from planner.jobs.work_done import Done
from planner.metering import MeteredEnergy, read_metered
from planner.trace import Fact, Source, Traced, derive


def named_by_meter(found: MeteredEnergy, catalogue: Catalogue) -> dict[str, str]:
    """Grid region and kind of node that a metered file itself names, where the catalogue has them.

    Of several countries or kinds of accelerators none is chosen.
    """
    named = {}
    for key, names, table in (("grid", found.countries, "country"), ("sku", found.models, "driver")):
        known = {_aliases(catalogue.folder)[table].get(name) for name in names}
        if len(known) == 1 and (one := known.pop()) is not None:
            named[key] = one
    return named


@cache
def _aliases(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "aliases.toml").open("rb") as file:
        return tomllib.load(file)


def _beside(setting: Setting, sku: str, found: MeteredEnergy) -> Iterator[str]:
    """What the file says of itself beside what the job counts with."""
    if found.own_kgco2e is not None:
        yield (
            f"{found.tool}'s own figure is {found.own_kgco2e:,.4g} kgCO2e: electricity alone, "
            "by its own grid factor and PUE"
        )
    named, grid = named_by_meter(found, setting.catalogue), setting.job.site.grid or "of the job's own"
    for key, said, counted in (("grid", found.countries, grid), ("sku", found.models, sku)):
        if not said or named.get(key) == counted:
            continue
        what = "grid" if key == "grid" else "node"
        here = f"is {what} {named[key]} here" if key in named else f"has no one {what} in the catalogue"
        yield f"the file names {', '.join(said)}, which {here}: counted is {what} {counted}"


def metered_work(setting: Setting, phase: str, work: Work) -> Done:
    """Node-hours and IT energy of a phase from its metered file.

    Raises:
        InputError: the file is of no kind that can be read, or does not say how many accelerators it saw.
    """
    assert work.metered is not None, "asked by the caller"
    path = setting.folder / work.metered
    found = read_metered(
        path, zone=work.metered_zone, columns=work.metered_columns, interval_s=work.metered_sampling_s,
        accelerators=work.metered_accelerators, covers=work.metered_covers,  # type: ignore[arg-type]  # a word
    )  # fmt: skip
    if found.accelerator_h is None:
        raise InputError(
            f"{phase}: {path.name} does not say how many accelerators it saw: write metered_accelerators"
        )
    sku = setting.sku(work.sku)
    hours = _measured(path, found, f"{phase}.accelerator_hours", found.accelerator_h, "h")
    count = setting.fact(f"server.{sku.server}.accelerators")
    node_h = derive(held_node_h, accelerator_time_h=hours, accelerators=count)
    it: Traced = _measured(path, found, f"{phase}.energy", found.it_kwh, "kWh")
    added = ""
    if found.covers == "accelerators":
        host = setting.fact(f"server.{sku.server}.host_power")
        it = derive(hosted_it_kwh, accelerators_kwh=it, node_h=node_h, host_kw=host)
        added = "; the host is added from the catalogue"
    notes = [f"{path.name}: {found.seen}{added}", *(f"{path.name}: {note}" for note in found.notes)]
    notes += [f"{path.name}: {said}" for said in _beside(setting, sku.name, found)]
    notes += [f"{path.name}: {row}" for row in found.bad_rows]
    if found.gaps_h:
        notes.append(f"{path.name}: {found.gaps_h:,.3g} h were not metered and are not counted")
    duration = _measured(path, found, f"{phase}.duration", found.duration_h, "h") if found.first else None
    useful = (
        None if work.useful_fraction is None else setting.yours(f"{phase}.useful", work.useful_fraction, "1")
    )
    return Done(
        sku.name, node_h, it, duration, useful, None,
        f"{found.accelerator_h:,.4g} accelerator-hours on {sku.name} (metered by {found.tool})", tuple(notes),
        None if found.first is None else found.first.date(),
    )  # fmt: skip


def _measured(path: Path, found: MeteredEnergy, name: str, value: float, unit: str) -> Fact:
    source = Source("metered", f"metered file of {found.tool}", link=path.name)
    return Fact(value, unit, key=f"job.{name}", source=source, locator=found.covers, kind="measured")
