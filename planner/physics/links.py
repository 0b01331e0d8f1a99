"""How many accelerators fast links join, as a SKU is sold."""

from __future__ import annotations

from planner.inputs.resolved import Inputs
from planner.trace.quantities import Traced, chosen


def link_domain(inputs: Inputs, sku: int) -> Traced:
    """Accelerators that fast links join: those of the chip's design, where so many are sold as one."""
    one = inputs.skus[sku]
    domain = inputs.fact(f"accelerator.{one.accelerator}.link_domain")
    together = one.buying_unit * inputs.server("accelerators")[sku].value
    if together >= domain.value:
        return domain
    return chosen("link_domain", together, f"{one.title}: links join what is sold as one")
