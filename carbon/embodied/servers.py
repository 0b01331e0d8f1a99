"""Carbon of servers and of what comes with them: host, network and end of life."""

from __future__ import annotations

from carbon import _domain
from carbon.columns import Column


def host_kgco2e(
    *,
    processors_kgco2e: Column,
    memory_kgco2e: Column,
    drives_kgco2e: Column,
    boards_kgco2e: Column,
    supplies_kgco2e: Column,
    chassis_kgco2e: Column,
    network_cards_kgco2e: Column,
    assembly_kgco2e: Column,
) -> Column:
    """Carbon of a server without its accelerators, from its parts.

    E_host = E_cpu + E_mem + E_drives + E_boards + E_psu + E_case + E_nic + E_asm

    Where a maker declares the whole server, take that. Memory and drives decide most of it and have the
    widest ranges.

    Source: sum of parts, as in Boavizta's methodology for servers.
    """
    parts = {
        "processors_kgco2e": processors_kgco2e,
        "memory_kgco2e": memory_kgco2e,
        "drives_kgco2e": drives_kgco2e,
        "boards_kgco2e": boards_kgco2e,
        "supplies_kgco2e": supplies_kgco2e,
        "chassis_kgco2e": chassis_kgco2e,
        "network_cards_kgco2e": network_cards_kgco2e,
        "assembly_kgco2e": assembly_kgco2e,
    }
    _domain.nonnegative(**parts)
    return sum(parts.values())


def server_kgco2e(*, accelerators: Column, accelerator_kgco2e: Column, host_kgco2e: Column) -> Column:
    """Carbon of one server: its accelerators and the host around them.

    E_server = n * E_acc + E_host

    The host figure must exclude the accelerators. Rack, network and building are left out.

    Source: sum of parts, as in Luccioni et al., "BLOOM", JMLR 24:253 (2023), section 4.1.
    """
    _domain.nonnegative(
        accelerators=accelerators, accelerator_kgco2e=accelerator_kgco2e, host_kgco2e=host_kgco2e
    )
    return accelerators * accelerator_kgco2e + host_kgco2e


def network_kgco2e(*, server_kgco2e: Column, network_fraction: Column) -> Column:
    """Carbon of switches, optics and cables, as a surcharge on the server that they connect.

    E_net = f * E_server

    No open product footprint of a cluster switch was found; the share is an assumption with a wide range.

    Source: form of Carbon Explorer (Acun et al., ASPLOS 2023), which adds a fixed ratio for other gear.
    """
    _domain.nonnegative(server_kgco2e=server_kgco2e, network_fraction=network_fraction)
    return network_fraction * server_kgco2e


def end_of_life_kgco2e(*, mass_kg: Column, end_of_life_kgco2e_per_kg: Column) -> Column:
    """Carbon of collecting and treating hardware at its end.

    E = m * c_eol

    Credits for recovered metal and for a second life are left out.

    Source: ADEME/Falk parametric model, arXiv 2509.00093.
    """
    _domain.nonnegative(mass_kg=mass_kg, end_of_life_kgco2e_per_kg=end_of_life_kgco2e_per_kg)
    return mass_kg * end_of_life_kgco2e_per_kg
