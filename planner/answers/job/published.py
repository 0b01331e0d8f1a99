"""Why others print another embodied figure for the same accelerator: cause by cause, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from carbon.embodied import device_kgco2e, waterfall
from planner.inputs.catalogue import Catalogue, Sku
from planner.trace.records import Record

# Parameter of the common form -> property of a peer's fact.
PARAMETERS = {
    "wafer_ratio": "wafer_ratio",
    "processed_kgco2e_per_cm2": "processed",
    "yield_fraction": "yield",
    "memory_kgco2e_per_gb": "memory",
    "integrated_circuit_residual_kgco2e": "integrated_circuits",
    "body_kgco2e": "body",
    "assembly_ratio": "assembly_ratio",
    "transport_kgco2e": "transport",
    "end_of_life_kgco2e": "end_of_life",
}
CAUSES = (
    ("boundary: transport to the site and end of life", ("transport_kgco2e", "end_of_life_kgco2e")),
    ("boundary: board, cooling, casing", ("body_kgco2e",)),
    ("boundary: assembly", ("assembly_ratio",)),
    ("substrate, switches and packages", ("integrated_circuit_residual_kgco2e",)),
    ("memory factor", ("memory_kgco2e_per_gb",)),
    ("node factor", ("processed_kgco2e_per_cm2",)),
    ("yield", ("yield_fraction",)),
    ("wafer edge and kerf", ("wafer_ratio",)),
)
# Peers whose parameters are known for the board that the engine was calibrated on, and their figure for it.
_PEERS = {"ecologits": "ecologits-0-11", "boavizta": "boavizta-2-5-0", "sc23": ""}
_CALIBRATED, _SHORT = "h100-sxm-80gb", "h100"


def published_rows(catalogue: Catalogue, sku: Sku) -> list[Record]:
    """The figures of others for an accelerator, next to the one used, with causes where they are known."""
    key = f"accelerator.{sku.accelerator}.embodied"
    used = catalogue.fact(key)
    others = [fact for name, fact in sorted(catalogue.facts.items()) if name.startswith(f"{key}@")]
    rows: list[Record] = [
        {
            "figure": fact.key.partition("@")[2] or "used here",
            "step": "published",
            "kgco2e": fact.value,
            "of_ours_ratio": fact.value / used.value,
            "boundary": fact.boundary.get("embodied", ""),
            "source": fact.source.cite(),
        }
        for fact in (used, *others)
    ]
    if sku.accelerator == _CALIBRATED:
        rows += [row for peer, figure in _PEERS.items() for row in _steps(catalogue, peer, figure)]
    return rows


def _steps(catalogue: Catalogue, peer: str, figure: str) -> Iterator[Record]:
    """From the component engine to a peer's figure."""
    ours = _engine(catalogue)
    theirs = ours | {
        name: catalogue.fact(f"peer.{peer}.{_SHORT}.{last}").value for name, last in PARAMETERS.items()
    }
    key = f"accelerator.{_CALIBRATED}.embodied@{figure}"
    printed = catalogue.fact(key).value if figure else float(device_kgco2e(**theirs))
    found = waterfall(device_kgco2e, ours, theirs, CAUSES, published_kgco2e=printed)  # type: ignore[arg-type]
    name = figure or peer
    yield {"figure": name, "step": "our component engine", "kgco2e": found.ours_kgco2e}
    for step in found.steps:
        if step.kgco2e:
            yield {"figure": name, "step": step.cause, "kgco2e": step.kgco2e}
    yield {"figure": name, "step": "left over", "kgco2e": found.residual_kgco2e}
    yield {"figure": name, "step": "their figure" if figure else "their formula", "kgco2e": printed}


def _engine(catalogue: Catalogue) -> dict[str, float]:
    """The component engine on the board that it was calibrated on, in the letters of the common form."""
    board, engine = f"accelerator.{_CALIBRATED}", "embodied.engine"

    def fact(key: str) -> float:
        return catalogue.fact(key).value  # type: ignore[no-any-return]

    return {
        "die_cm2": fact(f"{board}.die_area"),
        "memory_gb": fact(f"{board}.memory"),
        "wafer_ratio": 1.0,
        "processed_kgco2e_per_cm2": fact("die.n5.carbon_per_area") * fact("fab.yield"),
        "yield_fraction": fact("fab.yield"),
        "memory_kgco2e_per_gb": fact(f"{engine}.memory_hbm"),
        "integrated_circuit_residual_kgco2e": fact(f"{engine}.integrated_circuit_residual"),
        "body_kgco2e": fact(f"{engine}.thermal") * fact(f"{board}.tdp") + fact(f"{engine}.electromechanical"),
        "assembly_ratio": fact(f"{engine}.assembly_ratio"),
        "transport_kgco2e": 0.0,
        "end_of_life_kgco2e": 0.0,
    }
