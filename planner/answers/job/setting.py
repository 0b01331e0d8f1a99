"""A job joined with the facts: where it runs, on what, and what its hours and its energy cost in carbon."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from carbon.attribution import embodied_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.grid import projected_kgco2e_per_kwh, weighted_kgco2e_per_kwh
from planner.answers.job.hourly import Hours, hourly_load_kwh, hours_of
from planner.inputs.catalogue import Catalogue, Region, Sku, make_fact
from planner.inputs.job.schema import Job, Site
from planner.inputs.resolved import data_year
from planner.physics.requests import ASKER
from planner.trace.quantities import Fact, Source, Traced, chosen, derive
from planner.trace.units import canonical, parse_quantity


@dataclass(frozen=True)
class Setting:
    """One job on one catalogue. Predictions are kept, so that variants of the job need not repeat them.

    In a variant, `as_stated` is the job that it varies; `techniques` are those that its work uses.
    """

    job: Job
    catalogue: Catalogue
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    as_stated: Job | None = None
    techniques: tuple[str, ...] = ()

    @property
    def idle_facts(self) -> tuple[str, ...]:
        """Values of the job's own for facts that nothing has asked for so far."""
        used = self.catalogue.facts_used or ()
        return tuple(key for key in self.job.facts if key not in used)

    @property
    def source(self) -> Source:
        """The job as the source of what it states."""
        if self.job.by_flags:
            return ASKER
        name = self.job.path.name if self.job.path else ""
        return Source("job", f"job '{self.job.title}'", link=name)

    def fact(self, key: str) -> Fact:
        """A fact of the catalogue, or the job's own value for it."""
        return self.catalogue.fact(key)

    def yours(self, path: str, value: float, unit: str) -> Fact:
        """A value that the job states, in its canonical unit, with its place in the file."""
        inside, inside_unit = canonical(value, unit)
        source = self.source if self._is_stated(path) else self._tried
        return Fact(
            inside,
            inside_unit,
            key=f"job.{path}",
            source=source,
            locator=path,
            kind="yours",
            stated=f"{value:g} {unit}".removesuffix(" 1"),
        )

    def _is_stated(self, path: str) -> bool:
        """Whether the job states this itself, and not its variant alone."""
        table, name = path.split(".")[:2]
        now, then = getattr(self.job, table), getattr(self.as_stated or self.job, table)
        return now is then or all(
            getattr(now, one) == getattr(then, one)
            for one in type(now).model_fields
            if one == name or one.startswith(f"{name}_")
        )

    @property
    def _tried(self) -> Source:
        return Source("variant", f"tried in a variant of job '{self.job.title}', not what the job states")

    def stated(self, path: str, value: float | None, unit: str, fact: str) -> Fact:
        """What the job states, else the fact of the catalogue."""
        return self.fact(fact) if value is None else self.yours(path, value, unit)

    def sku(self, name: str | None) -> Sku:
        """The kind of node of a phase: its own, else the job's."""
        found = name or self.job.hardware.sku
        assert found is not None, "refused on reading"
        return self.catalogue.skus[found]

    @property
    def pue(self) -> Traced:
        """Facility over IT energy."""
        return self.stated("site.pue", self.job.site.pue, "1", self._of_region("pue_key") or "pue.default")

    @property
    def onsite_l_per_kwh(self) -> Traced:
        """Water of the site's cooling."""
        return self.stated(
            "site.wue", self.job.site.wue_l_per_kwh, "L/kWh", self._of_region("wue_key") or "wue.default"
        )

    @property
    def region(self) -> Region | None:
        """The region that the job names."""
        return self.catalogue.regions.get(self.job.site.region or "")

    def _of_region(self, word: str) -> str:
        """The fact of the region for its PUE or WUE; empty where there is none."""
        return "" if self.region is None else str(getattr(self.region, word))

    @property
    def offsite_l_per_kwh(self) -> Fact:
        """Water of generation: of the country where it is known, else an assumption with a wide range."""
        return self.fact(self.catalogue.water_key(self.job.site.grid))

    @property
    def folder(self) -> Path:
        """Where files that the job names are looked for: next to it."""
        return self.job.path.parent if self.job.path else Path()

    @property
    def hourly_name(self) -> str | None:
        """The hours that the job or its region names."""
        return self._hourly()[0].hourly

    def _hourly(self) -> tuple[Site, Path]:
        """The site with the hours of its region, where it states none, and where a file of hours lies."""
        site, region = self.job.site, self.region
        if site.hourly is not None or region is None or not region.hourly or site.grid != region.grid:
            return site, self.folder
        signal = site.hourly_signal or region.signal or None
        return site.but(hourly=region.hourly, hourly_signal=signal), region.folder

    @property
    def hours(self) -> Hours | None:
        """The hourly series that the job names."""
        site, folder = self._hourly()
        if site.hourly is None:
            return None
        key = ("hours", site)
        if key not in self.kept:
            self.kept[key] = hours_of(site, folder, self.catalogue)
        found: Hours = self.kept[key]
        return found

    def started(self, own: date | None) -> date | None:
        """First day of a phase: its own, else the job's."""
        return own or self.job.site.start

    def grid(self, start: date | None = None, duration_h: Traced | None = None) -> Traced:
        """Grid intensity that a constant load meets: of its hours, of the region, or the job's own.

        Where start or length are not known, every hour of the series weighs alike.
        """
        series = self.hours
        if series is None:
            return self._yearly()
        begin = self.started(start)
        if begin is None or duration_h is None:
            start_h: Traced = chosen("start_h", 0.0, "start or length is not stated: every hour alike")
            lasts: Traced = chosen("duration_h", float(series.count), "the whole series")
        else:
            series.require(begin, float(np.max(duration_h.value)))
            start_h = chosen("start_h", series.start_h(begin), f"{begin}, in the year of the series")
            lasts = duration_h
        hours = chosen("hours", float(series.count), "length of the series")
        load = derive(hourly_load_kwh, start_h=start_h, duration_h=lasts, hours=hours)
        return derive(weighted_kgco2e_per_kwh, grid_kgco2e_per_kwh=series.fact, load_kwh=load)

    def _yearly(self) -> Traced:
        """The job's own figure, or the region's, carried forward where a decline is stated."""
        site = self.job.site
        if site.grid_kgco2e_per_kwh is not None:
            return self.yours("site.grid_intensity", site.grid_kgco2e_per_kwh, "kgCO2e/kWh")
        region = self.fact(f"grid.{site.grid}.intensity")
        if site.grid_decline_fraction is None or site.start is None:
            return region
        year = data_year(region)
        ahead = max(0, site.start.year - year)
        return derive(
            projected_kgco2e_per_kwh,
            grid_kgco2e_per_kwh=region,
            decline_fraction_per_y=self.yours("site.grid_decline", site.grid_decline_fraction, "1/y"),
            years_ahead_y=chosen(
                "years_ahead_y", float(ahead), f"from the data of {year} to {site.start.year}"
            ),
        )

    def server_kgco2e(self, sku: Sku) -> Traced:
        """Embodied carbon of a node."""
        return derive(
            server_kgco2e,
            "embodied=server",
            accelerators=self.fact(f"server.{sku.server}.accelerators"),
            host_kgco2e=self.fact(f"server.{sku.server}.embodied"),
            accelerator_kgco2e=self.fact(f"accelerator.{sku.accelerator}.embodied"),
        )

    def lifetime_h(self) -> Traced:
        """Life over which the making of nodes is spread."""
        years = self.stated("hardware.lifetime", self.job.hardware.lifetime_y, "y", "embodied.lifetime")
        return self.years_h(years)

    def years_h(self, years: Traced) -> Traced:
        """Hours of a life in years."""
        return derive(lifetime_h, lifetime_y=years)

    def node_share_kgco2e(self, embodied_kgco2e: Traced, node_h: Traced) -> Traced:
        """Part of a node's embodied carbon for some of its hours; idle hours are charged to the used ones."""
        used = self.job.hardware.utilisation_fraction
        return derive(
            embodied_share_kgco2e,
            embodied_kgco2e=embodied_kgco2e,
            used_h=node_h,
            lifetime_h=self.lifetime_h(),
            utilisation_fraction=self.stated("hardware.utilisation", used, "1", "embodied.utilisation"),
        )


def setting_of(job: Job, catalogue: Catalogue, kept: dict[Any, Any] | None = None) -> Setting:
    """The job on a catalogue in which its own facts stand."""
    own = Setting(job, catalogue)
    facts = []
    for key, text in job.facts.items():
        shipped = catalogue.fact(key)
        value = parse_quantity(text, shipped.unit)
        facts.append(
            make_fact(
                key, value, shipped.unit, own.source, locator=f"[facts] {key}", boundary=shipped.boundary
            )
        )
    if facts:
        catalogue = replace(catalogue.with_facts(facts), facts_used=set())
    return Setting(job, catalogue, {} if kept is None else kept)
