"""Carbon of an accelerator on its board: the component engine, and the share of a declared footprint.

Where a maker declares a footprint, that is what plans take; the engine fills the gaps.
"""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def accelerator_kgco2e(
    *,
    die_cm2: Column,
    silicon_kgco2e_per_cm2: Column,
    integrated_circuit_residual_kgco2e: Column,
    memory_gb: Column,
    memory_kgco2e_per_gb: Column,
    tdp_kw: Column,
    thermal_kgco2e_per_kw: Column,
    electromechanical_kgco2e: Column,
    assembly_ratio: Column,
) -> Column:
    """Carbon of one accelerator as its share of a baseboard, cradle to gate.

    E = r * (CPA * A + E_ic + c_mem * M + c_th * P + E_em)

    The coefficients come from one published split, that of the HGX H100 board (memory, circuits, thermal,
    electromechanical; r adds assembly and transport). Switch chips and heat sinks of the board are inside,
    the host is not. Cards without switch chips are over-estimated.

    Source: NVIDIA, "HGX H100 Product Carbon Footprint Summary", 2025 (calibration); ACT for CPA.
    """
    _domain.nonnegative(
        die_cm2=die_cm2,
        silicon_kgco2e_per_cm2=silicon_kgco2e_per_cm2,
        integrated_circuit_residual_kgco2e=integrated_circuit_residual_kgco2e,
        memory_gb=memory_gb,
        memory_kgco2e_per_gb=memory_kgco2e_per_gb,
        tdp_kw=tdp_kw,
        thermal_kgco2e_per_kw=thermal_kgco2e_per_kw,
        electromechanical_kgco2e=electromechanical_kgco2e,
    )
    _domain.at_least(1.0, assembly_ratio=assembly_ratio)
    circuits = silicon_kgco2e_per_cm2 * die_cm2 + integrated_circuit_residual_kgco2e
    memory = memory_kgco2e_per_gb * memory_gb
    cooling = thermal_kgco2e_per_kw * tdp_kw
    return assembly_ratio * (circuits + memory + cooling + electromechanical_kgco2e)


def baseboard_share_kgco2e(*, baseboard_kgco2e: Column, accelerators: Column) -> Column:
    """Carbon of one accelerator with its equal share of the board that carries it.

    E = E_board / n

    The host is not included.

    Source: NVIDIA, "HGX H100 Product Carbon Footprint Summary", 2025 (1,312 kg for 8).
    """
    _domain.nonnegative(baseboard_kgco2e=baseboard_kgco2e)
    _domain.positive(accelerators=accelerators)
    return baseboard_kgco2e / accelerators
