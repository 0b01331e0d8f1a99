"""Carbon of servers and of what comes with them: host, storage, network, transport and end of life."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]


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


def server_share_kgco2e(*, accelerators: Column, accelerator_kgco2e: Column, host_kgco2e: Column) -> Column:
    """Carbon of one accelerator with its equal share of the host.

    E = E_acc + E_host / n

    What papers print when they say "per GPU, server included".

    Source: Morrison et al., arXiv 2503.05804 (2025).
    """
    _domain.nonnegative(accelerator_kgco2e=accelerator_kgco2e, host_kgco2e=host_kgco2e)
    _domain.positive(accelerators=accelerators)
    return accelerator_kgco2e + host_kgco2e / accelerators


def network_kgco2e(*, server_kgco2e: Column, network_fraction: Column) -> Column:
    """Carbon of switches, optics and cables, as a surcharge on the server that they connect.

    E_net = f * E_server

    No open product footprint of a cluster switch was found; the share is an assumption with a wide range.

    Source: form of Carbon Explorer (Acun et al., ASPLOS 2023), which adds a fixed ratio for other gear.
    """
    _domain.nonnegative(server_kgco2e=server_kgco2e, network_fraction=network_fraction)
    return network_fraction * server_kgco2e


def storage_share_kgco2e(
    *,
    stored_gb: Column,
    copies: Column,
    usable_fraction: Column,
    raw_gb: Column,
    storage_server_kgco2e: Column,
) -> Column:
    """Part of a storage server that some stored data takes.

    E = E_server * r * GB / (f * GB_raw)

    r counts copies or the overhead of erasure coding, f what is left of the drives after spares and free
    space. Data beyond the server's room takes more than one.

    Source: allocation by occupied capacity, as in Cloud Carbon Footprint (replication factors).
    """
    _domain.nonnegative(stored_gb=stored_gb, storage_server_kgco2e=storage_server_kgco2e)
    _domain.at_least(1.0, copies=copies)
    _domain.positive(raw_gb=raw_gb)
    _domain.share_above_zero(usable_fraction=usable_fraction)
    return storage_server_kgco2e * copies * stored_gb / (usable_fraction * raw_gb)


def fabric_share_kgco2e(
    *, switches: Column, switch_kgco2e: Column, optics: Column, optic_kgco2e: Column, servers: Column
) -> Column:
    """Part of a fabric, counted piece by piece, that one server carries.

    E_net = (n_sw * E_sw + n_opt * E_opt) / n_srv

    Use it instead of `network_kgco2e` where the fabric is designed; cables are left out.

    Source: sum of parts over the servers that it connects.
    """
    _domain.nonnegative(
        switches=switches, switch_kgco2e=switch_kgco2e, optics=optics, optic_kgco2e=optic_kgco2e
    )
    _domain.positive(servers=servers)
    return (switches * switch_kgco2e + optics * optic_kgco2e) / servers


def transport_kgco2e(
    *,
    mass_kg: Column,
    truck_km: Column,
    truck_kgco2e_per_kg_km: Column,
    boat_km: Column,
    boat_kgco2e_per_kg_km: Column,
    plane_km: Column,
    plane_kgco2e_per_kg_km: Column,
) -> Column:
    """Carbon of carrying hardware from the works to the site.

    E = m * (d_truck * c_truck + d_boat * c_boat + d_plane * c_plane)

    The mass includes packing. By air a kilogram-kilometre costs some 160 times that by sea.

    Source: ADEME/Falk parametric model, arXiv 2509.00093.
    """
    _domain.nonnegative(
        mass_kg=mass_kg,
        truck_km=truck_km,
        truck_kgco2e_per_kg_km=truck_kgco2e_per_kg_km,
        boat_km=boat_km,
        boat_kgco2e_per_kg_km=boat_kgco2e_per_kg_km,
        plane_km=plane_km,
        plane_kgco2e_per_kg_km=plane_kgco2e_per_kg_km,
    )
    road, sea = truck_km * truck_kgco2e_per_kg_km, boat_km * boat_kgco2e_per_kg_km
    return mass_kg * (road + sea + plane_km * plane_kgco2e_per_kg_km)


def end_of_life_kgco2e(*, mass_kg: Column, end_of_life_kgco2e_per_kg: Column) -> Column:
    """Carbon of collecting and treating hardware at its end.

    E = m * c_eol

    Credits for recovered metal and for a second life are left out.

    Source: ADEME/Falk parametric model, arXiv 2509.00093.
    """
    _domain.nonnegative(mass_kg=mass_kg, end_of_life_kgco2e_per_kg=end_of_life_kgco2e_per_kg)
    return mass_kg * end_of_life_kgco2e_per_kg


def whole_life_kgco2e(
    *,
    server_kgco2e: Column,
    network_kgco2e: Column,
    building_share_kgco2e: Column,
    transport_kgco2e: Column,
    end_of_life_kgco2e: Column,
) -> Column:
    """Embodied carbon of a server over its whole life, with what it stands in and on.

    E_life = E_server + E_net + E_build + E_transport + E_eol

    The building's share is that of the server's years. Use is not in it.

    Source: sum of parts; the boundary of Schneider et al., arXiv 2502.01671 (2025).
    """
    _domain.nonnegative(
        server_kgco2e=server_kgco2e,
        network_kgco2e=network_kgco2e,
        building_share_kgco2e=building_share_kgco2e,
        transport_kgco2e=transport_kgco2e,
        end_of_life_kgco2e=end_of_life_kgco2e,
    )
    return server_kgco2e + network_kgco2e + building_share_kgco2e + transport_kgco2e + end_of_life_kgco2e
