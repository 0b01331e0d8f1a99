"""Writes docs/peers.md: the same three jobs by other tools and by us, each difference taken apart.

    python -m benchmarks.studies.peers           from what the tools said last, in peers.csv next to this
    python -m benchmarks.studies.peers --ask     ask them again: installs them in an environment of their own

Ours and the formulas are worked out at each run; peers.toml describes the jobs.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carbon.attribution import calendar_share_kgco2e, embodied_share_kgco2e, lifetime_h
from carbon.embodied import Waterfall, waterfall
from carbon.energy import energy_kwh
from carbon.ledger import footprint_kgco2e
from carbon.operational import operational_kgco2e
from carbon.peers import (
    ecologits_gpu_kwh,
    ecologits_gpus,
    ecologits_latency_s,
    green_algorithms_kwh,
    mlco2_kgco2e,
)
from carbon.pue import facility_energy_kwh
from planner.answers.job import job_document, read_job
from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue

HERE = Path(__file__).resolve().parent
ANSWERS, JOBS = HERE / "peers.csv", HERE / "peers.toml"
PAGE = HERE.parents[1] / "docs" / "peers.md"
PINS = {"codecarbon": "3.3.2", "ecologits": "0.11.3"}
COLUMNS = ("job", "tool", "version", "quantity", "value", "unit")
# What surely differs by boundary first, what multiplies everything last.
CAUSES = (
    ("making the accelerators", ("accelerator_kgco2e",)),
    ("making the host", ("host_share_kgco2e",)),
    ("life of the hardware", ("life_h",)),
    ("idle part of that life", ("utilisation_fraction",)),
    ("power of the accelerators", ("accelerator_kw",)),
    ("power of the host", ("host_share_kw",)),
    ("hours: speed and batch", ("accelerator_time_h",)),
    ("PUE", ("pue",)),
    ("grid factor", ("grid_kgco2e_per_kwh",)),
)
WITHOUT_HARDWARE = {"accelerator_kgco2e": 0.0, "host_share_kgco2e": 0.0}
ENERGY = ("accelerator_time_h", "accelerator_kw", "host_share_kw", "pue")

Parameters = dict[str, float]
Answers = Mapping[tuple[str, str, str], float]


def job_kgco2e(
    *,
    accelerator_time_h: float,
    accelerator_kw: float,
    host_share_kw: float,
    pue: float,
    grid_kgco2e_per_kwh: float,
    accelerator_kgco2e: float,
    host_share_kgco2e: float,
    life_h: float,
    utilisation_fraction: float,
) -> float:
    """Carbon of a job in letters that every tool's sum can be written in; host by its share of a node.

    C = t * (P_acc + P_host) * PUE * CI + t * (E_acc + E_host) / (L * u)
    """
    energy = energy_kwh(power_kw=accelerator_kw + host_share_kw, duration_h=accelerator_time_h)
    use = operational_kgco2e(
        facility_energy_kwh=facility_energy_kwh(it_energy_kwh=energy, pue=pue),
        grid_kgco2e_per_kwh=grid_kgco2e_per_kwh,
    )
    hardware = embodied_share_kgco2e(
        embodied_kgco2e=accelerator_kgco2e + host_share_kgco2e,
        used_h=accelerator_time_h,
        lifetime_h=life_h,
        utilisation_fraction=utilisation_fraction,
    )
    return float(footprint_kgco2e(operational_kgco2e=use, embodied_kgco2e=hardware))


@dataclass(frozen=True, slots=True)
class PeerJob:
    """A job, our answer, and what others need to know of it."""

    letter: str
    entry: Mapping[str, Any]
    ours_kgco2e: float
    ours: Parameters
    tdp_kw: float
    accelerator: str
    accelerators: float
    facts: Callable[[str], float]

    @property
    def grid(self) -> str:
        """Region of the catalogue."""
        return str(self.entry["job"]["site"]["grid"])


def peer_job(letter: str, entry: Mapping[str, Any], catalogue: Catalogue) -> PeerJob:
    """Our answer to a job, in the parameters of the common form."""
    job = read_job(entry["job"], letter, catalogue)
    document = job_document(job)
    totals = {total["name"]: total["value"] for total in document["totals"]}

    stated = {fact["key"]: fact["value"] for fact in document["facts"]}

    def facts(key: str) -> float:
        return float(stated.get(key, catalogue.facts[key].value))

    sku = catalogue.skus[entry["job"]["hardware"]["sku"]]
    server, accelerator = f"server.{sku.server}", f"accelerator.{sku.accelerator}"
    accelerators, pue = facts(f"{server}.accelerators"), float(entry["job"]["site"]["pue"])
    host_kw, hours = facts(f"{server}.host_power") / accelerators, totals["accelerator_hours"]
    ours = {
        "accelerator_time_h": hours,
        "accelerator_kw": totals["energy"] / pue / hours - host_kw,
        "host_share_kw": host_kw,
        "pue": pue,
        "grid_kgco2e_per_kwh": facts(f"grid.{entry['job']['site']['grid']}.intensity"),
        "accelerator_kgco2e": facts(f"{accelerator}.embodied"),
        "host_share_kgco2e": facts(f"{server}.embodied") / accelerators,
        "life_h": float(lifetime_h(lifetime_y=facts("embodied.lifetime"))),
        "utilisation_fraction": facts("embodied.utilisation"),
    }
    tdp_kw = facts(f"{accelerator}.tdp")
    return PeerJob(letter, entry, totals["carbon"], ours, tdp_kw, sku.accelerator, accelerators, facts)


def by_codecarbon(job: PeerJob, said: Answers) -> tuple[Parameters, float]:
    """Energy that it is given, at its own factor of the country."""
    if "ecologits" in job.entry:
        like, _ = by_ecologits(job, said)
        given = {name: like[name] for name in ENERGY}
    else:
        given = {"accelerator_kw": job.tdp_kw, "host_share_kw": 0.0, "pue": job.entry["codecarbon_pue"]}
    grid = job.facts(f"peer.codecarbon.{job.grid}.intensity")
    theirs = {**job.ours, **WITHOUT_HARDWARE, **given, "grid_kgco2e_per_kwh": grid}
    return theirs, said[job.letter, "codecarbon", "carbon"]


def by_mlco2(job: PeerJob, _: Answers) -> tuple[Parameters, float]:
    """Rated power of the accelerators times hours times the factor."""
    theirs = {**job.ours, **WITHOUT_HARDWARE, "accelerator_kw": job.tdp_kw, "host_share_kw": 0.0, "pue": 1.0}
    hours, grid = job.ours["accelerator_time_h"], job.ours["grid_kgco2e_per_kwh"]
    return theirs, float(mlco2_kgco2e(device_h=hours, tdp_kw=job.tdp_kw, grid_kgco2e_per_kwh=grid))


def by_green_algorithms(job: PeerJob, _: Answers) -> tuple[Parameters, float]:
    """All parts at their rated power, memory by its size, at its own factor of the country."""
    host = job.entry["green_algorithms"]
    core_kw, memory_kw_per_gb = host["core_w"] / 1e3, job.facts("storage.dram.power@green-algorithms")
    host_kw = host["cores"] * core_kw + host["memory_gb"] * memory_kw_per_gb
    grid = job.facts(f"peer.green_algorithms.{job.grid}.intensity")
    theirs = {
        **job.ours,
        **WITHOUT_HARDWARE,
        "accelerator_kw": job.tdp_kw,
        "grid_kgco2e_per_kwh": grid,
        "host_share_kw": host_kw / job.accelerators,
    }
    energy = green_algorithms_kwh(
        duration_h=job.ours["accelerator_time_h"] / job.accelerators,
        cores=host["cores"],
        core_kw=core_kw,
        core_utilisation_fraction=1.0,
        gpus=job.accelerators,
        gpu_kw=job.tdp_kw,
        gpu_utilisation_fraction=1.0,
        memory_gb=host["memory_gb"],
        memory_kw_per_gb=memory_kw_per_gb,
        pue=job.ours["pue"],
        repeats=1.0,
    )
    return theirs, float(energy * grid)


def by_llmcarbon(job: PeerJob, _: Answers) -> tuple[Parameters, float]:
    """Rated power with PUE; dies, memory and drives by their area and size over calendar hours."""
    chip, host = job.facts(f"peer.llmcarbon.{job.accelerator}.embodied"), job.facts("peer.llmcarbon.host")
    life_h = float(lifetime_h(lifetime_y=job.facts("embodied.lifetime@llmcarbon")))
    theirs = {
        **job.ours,
        "accelerator_kw": job.tdp_kw,
        "host_share_kw": 0.0,
        "accelerator_kgco2e": chip,
        "host_share_kgco2e": host / job.accelerators,
        "life_h": life_h,
        "utilisation_fraction": 1.0,
    }
    hours = job.ours["accelerator_time_h"]
    use = hours * job.tdp_kw * job.ours["pue"] * job.ours["grid_kgco2e_per_kwh"]
    node_kgco2e, node_h = job.accelerators * chip + host, hours / job.accelerators
    hardware = calendar_share_kgco2e(embodied_kgco2e=node_kgco2e, used_h=node_h, lifetime_h=life_h)
    return theirs, float(use + hardware)


def by_ecologits(job: PeerJob, said: Answers) -> tuple[Parameters, float]:
    """Speed and energy of a request by fits on the size of the model; its own factor and life."""
    work, batch = job.entry["ecologits"], job.entry["ecologits"]["batch"]
    of = {"active_parameters": work["parameters"], "output_tokens": work["output_tokens"], "batch": batch}

    def fact(name: str) -> float:
        return job.facts(f"peer.ecologits.{name}")

    latency_s = ecologits_latency_s(
        **of,
        parameter_slope_s=fact("latency_slope"),
        batch_slope_s=fact("latency_batch"),
        offset_s=fact("latency_offset"),
    )
    gpu_kwh = ecologits_gpu_kwh(
        **of,
        slope_kwh=fact("gpu_slope"),
        batch_decay_factor=fact("batch_decay"),
        offset_kwh=fact("gpu_offset"),
    )
    gpus = ecologits_gpus(
        parameters=work["parameters"],
        bits_per_parameter=fact("bits"),
        overhead_ratio=fact("memory_overhead"),
        gpu_memory_gb=fact("gpu_memory"),
    )
    hours = work["requests"] * latency_s / 3600 * gpus / batch
    theirs = {
        "accelerator_time_h": float(hours),
        "accelerator_kw": float(work["requests"] * gpus * gpu_kwh / hours),
        "host_share_kw": fact("host_power") / fact("gpus_a_host"),
        "pue": job.ours["pue"],
        "grid_kgco2e_per_kwh": fact(f"{job.grid}.intensity"),
        "accelerator_kgco2e": job.facts(f"accelerator.{job.accelerator}.embodied@ecologits-0-11"),
        "host_share_kgco2e": job.ours["host_share_kgco2e"],  # ours is theirs
        "life_h": float(lifetime_h(lifetime_y=job.facts("embodied.lifetime@ecologits-0-11"))),
        "utilisation_fraction": 1.0,
    }
    parts = (said[job.letter, "ecologits", f"carbon of {part}"] for part in ("use", "hardware"))
    return theirs, sum(parts)


BY = {
    "CodeCarbon": by_codecarbon,
    "ML CO2": by_mlco2,
    "Green Algorithms": by_green_algorithms,
    "LLMCarbon": by_llmcarbon,
    "EcoLogits": by_ecologits,
}


def compared(job: PeerJob, said: Answers) -> dict[str, Waterfall]:
    """From ours to what each tool says, cause by cause; EcoLogits knows requests only."""
    found = {}
    for tool, by in BY.items():
        if tool != "EcoLogits" or "ecologits" in job.entry:
            theirs, printed = by(job, said)
            found[tool] = waterfall(job_kgco2e, job.ours, theirs, CAUSES, published_kgco2e=printed)
    return found


def read_jobs(catalogue: Catalogue) -> list[PeerJob]:
    """The three jobs with our answers."""
    with JOBS.open("rb") as file:
        return [peer_job(letter, entry, catalogue) for letter, entry in tomllib.load(file).items()]


def read_answers() -> dict[tuple[str, str, str], float]:
    """What the tools said, by job, tool and quantity."""
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["job"], row["tool"], row["quantity"]): float(row["value"]) for row in rows}


TOP = """# Three jobs, other tools, and why they differ

Written by `python -m benchmarks.studies.peers`; a test holds the page to it. What the installed tools said,
with their versions, is in [peers.csv](../benchmarks/studies/peers.csv), the jobs are in
[peers.toml](../benchmarks/studies/peers.toml), the coefficients of the formulas are facts (`everfleet facts
peer.`). No tool's number is taken for the truth here, and neither is ours: `everfleet carbon` prints its
range.
"""
INPUTS = """## The inputs of each

- **everfleet**: `everfleet carbon` on the same job. A share of the rated power while training, a model of
  serving for the requests, the host, PUE, a factor of the country, and the hardware over its used hours.
- **CodeCarbon** {codecarbon} (MIT) meters energy and turns it into carbon. Nothing was metered here: it is
  given the accelerators at their rated power (A with the PUE, B at its default of none), and in C the
  energy of EcoLogits. The factor is its own.
- **ML CO2** (formula): rated power, hours, and the factor that it is given: ours.
- **Green Algorithms** (formula, data v3): processors and accelerators at their rated power, memory by its
  size, PUE, its own factor of the country. The host is described in peers.toml.
- **LLMCarbon** (formula): rated power where no average power of the system is known, PUE, our factor;
  hardware by area of dies and size of memory and drives, over calendar hours. Its hours come from operations
  and an efficiency that one has to know: it is given our hours.
- **EcoLogits** {ecologits} (MPL-2.0) knows requests only, by fits on the size of the model at a batch of 64,
  with its own factor. It does not count prompts; ours have 90 tokens.

BoaviztAPI (AGPL) is not run. What it and others print for one H100 board, and why, `everfleet carbon
--accelerator-hours 192 --why-embodied` takes apart.
"""
READING = """## How to read the tables

From our figure, one cause after the other is changed to what the tool takes, in the order of the rows,
until all is theirs. Causes that multiply share their joint effect by this order, so a row says what its cause
does once those above it are settled. What is left over is the difference to what the tool really said:
rounded coefficients, and years of 365 days. Next to a formula it only shows that the common form holds it.
"""


def page(jobs: Sequence[PeerJob], said: Answers) -> str:
    """The whole page."""
    found = {job.letter: compared(job, said) for job in jobs}
    parts = [TOP, _results(jobs, found), INPUTS.format(**PINS), READING]
    parts += [_taken_apart(job, found[job.letter]) for job in jobs]
    return "\n".join(parts)


def _results(jobs: Sequence[PeerJob], found: Mapping[str, Mapping[str, Waterfall]]) -> str:
    said = "\n".join(f"- **{job.letter}**: {job.entry['said']}" for job in jobs)
    rows = [("everfleet", *(_mass(job.ours_kgco2e, job) for job in jobs))]
    for tool in BY:
        cells = [(job, found[job.letter].get(tool)) for job in jobs]
        rows.append((tool, *(_mass(one.theirs_kgco2e, job) if one else "no answer" for job, one in cells)))
    head = ("carbon by", *(f"{job.letter}, {_unit(job)}" for job in jobs))
    return f"{said}\n\n{_table(head, rows)}"


def _taken_apart(job: PeerJob, found: Mapping[str, Waterfall]) -> str:
    rows = [("everfleet", *(_mass(one.ours_kgco2e, job) for one in found.values()))]
    for number, (cause, _) in enumerate(CAUSES):
        steps = [one.steps[number].kgco2e for one in found.values()]
        if any(steps):
            rows.append((cause, *(_part(step, job) for step in steps)))
    rows.append(("left over", *(_mass(one.residual_kgco2e, job, sign=True) for one in found.values())))
    rows.append(("**theirs**", *(f"**{_mass(one.theirs_kgco2e, job)}**" for one in found.values())))
    rows.append(("left over, share", *(f"{100 * one.residual_fraction:.2f} %" for one in found.values())))
    return f"## Job {job.letter}, {_unit(job)}\n\n{job.entry['said']}.\n\n{_table(('', *found), rows)}"


def _unit(job: PeerJob) -> str:
    return "tCO2e" if job.ours_kgco2e >= 1e4 else "kgCO2e"


def _mass(kgco2e: float, job: PeerJob, sign: bool = False) -> str:
    value = kgco2e / 1e3 if _unit(job) == "tCO2e" else kgco2e
    return f"{value:+.2f}" if sign else f"{value:.1f}"


def _part(kgco2e: float, job: PeerJob) -> str:
    """A cause's part of a difference; nothing where it would read as zero."""
    shown = _mass(kgco2e, job, sign=True)
    return shown if float(shown) else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def ask(jobs: Sequence[PeerJob]) -> None:
    """Install the tools at their pins in an environment of their own, ask them, keep what they said."""
    questions = [
        {
            "job": job.letter,
            "country": job.entry["country"],
            "pue": job.ours["pue"],
            "codecarbon_pue": job.entry["codecarbon_pue"],
            **job.entry.get("ecologits", {"energy_kwh": job.ours["accelerator_time_h"] * job.tdp_kw}),
        }
        for job in jobs
    ]
    with tempfile.TemporaryDirectory(prefix="everfleet-peers-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        pins = [f"{tool}=={pin}" for tool, pin in PINS.items()]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pins], check=True)
        done = subprocess.run(
            [python, "-P", str(HERE / "peers_tools.py")],
            input=json.dumps(questions),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    with ANSWERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(json.loads(done.stdout))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; with `--ask`, from new answers."""
    parser = argparse.ArgumentParser(description="Write docs/peers.md.")
    parser.add_argument("--ask", action="store_true", help="install the tools apart and ask them again")
    options = parser.parse_args(arguments)
    jobs = read_jobs(load_catalogue())
    if options.ask:
        ask(jobs)
    PAGE.write_text(page(jobs, read_answers()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
