"""Names of a plan's node groups, works and accelerators as clusters know them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from planner.inputs.catalogue import Sku
from planner.inputs.loading import load_catalogue
from planner.report.standards.formats import StandardError
from planner.trace.records import Record

LONGEST = 63  # characters of a name in Kubernetes, by RFC 1123
SITE_LABEL = "topology.kubernetes.io/zone"
PRODUCT_LABEL = "nvidia.com/gpu.product"


def cluster_name(*parts: str) -> str:
    """A name of small letters, digits and dashes, as Kubernetes and Slurm take it."""
    text = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    return text[:LONGEST].strip("-") or "unnamed"


def sku_of(name: str) -> Sku:
    """The SKU of a plan.

    Raises:
        StandardError: the catalogue here does not have it.
    """
    skus = load_catalogue().skus
    if name not in skus:
        raise StandardError(f"the catalogue has no SKU '{name}': name your own facts, too, by --data")
    return skus[name]


def accelerators_per_node(name: str) -> int:
    """How many accelerators a node of a SKU has."""
    return int(load_catalogue().fact(f"server.{sku_of(name).server}.accelerators").value)


def plugin_resource(name: str) -> str:
    """The resource by which Kubernetes counts the accelerators of a SKU.

    Raises:
        StandardError: nobody has said which device plugin the accelerator has.
    """
    accelerator, aliases = sku_of(name).accelerator, _aliases(load_catalogue().folder)
    kind = next((kind for kind, held in aliases["generation"].items() if accelerator in held), "")
    found = aliases["device_plugin"].get(kind)
    if found is None:
        raise StandardError(
            f"{name}: no device plugin is known for {accelerator}: add its generation to [generation] and "
            "[device_plugin] of data/aliases.toml"
        )
    return str(found)


def node_labels(site: str, name: str) -> dict[str, str]:
    """Labels of the nodes of a SKU at a site; the product where its driver's name is known."""
    driver = _aliases(load_catalogue().folder)["driver"]
    product = next((said for said, sku in driver.items() if sku == name), None)
    return {SITE_LABEL: cluster_name(site)} | (
        {PRODUCT_LABEL: product.replace(" ", "-")} if product is not None else {}
    )


def groups_of(rows: list[Record]) -> list[tuple[str, str]]:
    """Site and SKU of each node group, in the order in which they are met."""
    return list(dict.fromkeys((row["site"], row["sku"]) for row in rows))


@cache
def _aliases(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "aliases.toml").open("rb") as file:
        return tomllib.load(file)
