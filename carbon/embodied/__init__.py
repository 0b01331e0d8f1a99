"""Embodied carbon: what it takes to make dies, memory, accelerators, servers and the room around them.

Boundaries differ from function to function and every docstring says its own (`Boundary` names them). A
baseboard share and a server are not the same quantity; adding host to accelerators (`server_kgco2e`) is the
only way across.
"""

from carbon.embodied.boards import accelerator_kgco2e, baseboard_share_kgco2e
from carbon.embodied.boundaries import Boundary, Part
from carbon.embodied.building import battery_kgco2e_per_y, building_share_kgco2e
from carbon.embodied.components import (
    capacity_kgco2e,
    circuit_board_kgco2e,
    drives_kgco2e,
    mass_kgco2e,
    pieces_kgco2e,
    processor_kgco2e,
    switch_kgco2e,
)
from carbon.embodied.dies import (
    die_kgco2e,
    gas_kgco2e_per_cm2,
    good_die_kgco2e,
    processed_kgco2e_per_cm2,
    rerated_kgco2e_per_cm2,
    silicon_kgco2e_per_cm2,
)
from carbon.embodied.packages import (
    bonded_yield_fraction,
    interposer_kgco2e,
    memory_stack_kgco2e,
    multi_die_package_kgco2e,
    packaging_kgco2e,
)
from carbon.embodied.servers import (
    end_of_life_kgco2e,
    fabric_share_kgco2e,
    host_kgco2e,
    network_kgco2e,
    server_kgco2e,
    server_share_kgco2e,
    storage_share_kgco2e,
    transport_kgco2e,
    whole_life_kgco2e,
)
from carbon.embodied.waterfall import Step, Waterfall, device_kgco2e, waterfall

__all__ = [
    "Boundary",
    "Part",
    "Step",
    "Waterfall",
    "accelerator_kgco2e",
    "baseboard_share_kgco2e",
    "battery_kgco2e_per_y",
    "bonded_yield_fraction",
    "building_share_kgco2e",
    "capacity_kgco2e",
    "circuit_board_kgco2e",
    "device_kgco2e",
    "die_kgco2e",
    "drives_kgco2e",
    "end_of_life_kgco2e",
    "fabric_share_kgco2e",
    "gas_kgco2e_per_cm2",
    "good_die_kgco2e",
    "host_kgco2e",
    "interposer_kgco2e",
    "mass_kgco2e",
    "memory_stack_kgco2e",
    "multi_die_package_kgco2e",
    "network_kgco2e",
    "packaging_kgco2e",
    "pieces_kgco2e",
    "processed_kgco2e_per_cm2",
    "processor_kgco2e",
    "rerated_kgco2e_per_cm2",
    "server_kgco2e",
    "server_share_kgco2e",
    "silicon_kgco2e_per_cm2",
    "storage_share_kgco2e",
    "switch_kgco2e",
    "transport_kgco2e",
    "waterfall",
    "whole_life_kgco2e",
]
