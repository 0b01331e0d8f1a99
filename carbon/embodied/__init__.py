"""Embodied carbon: what it takes to make dies, memory, accelerators, servers and the room around them.

Boundaries differ from function to function and every docstring says its own. A baseboard share and a server
are not the same quantity; adding host to accelerators (`server_kgco2e`) is the only way across.
"""

from carbon.embodied.boards import accelerator_kgco2e, baseboard_share_kgco2e
from carbon.embodied.building import battery_kgco2e_per_y, building_share_kgco2e
from carbon.embodied.components import capacity_kgco2e
from carbon.embodied.dies import (
    die_kgco2e,
    gas_kgco2e_per_cm2,
    packaging_kgco2e,
    processed_kgco2e_per_cm2,
    silicon_kgco2e_per_cm2,
)
from carbon.embodied.servers import end_of_life_kgco2e, host_kgco2e, network_kgco2e, server_kgco2e
from carbon.embodied.waterfall import Step, Waterfall, device_kgco2e, waterfall

__all__ = [
    "Step",
    "Waterfall",
    "accelerator_kgco2e",
    "baseboard_share_kgco2e",
    "battery_kgco2e_per_y",
    "building_share_kgco2e",
    "capacity_kgco2e",
    "device_kgco2e",
    "die_kgco2e",
    "end_of_life_kgco2e",
    "gas_kgco2e_per_cm2",
    "host_kgco2e",
    "network_kgco2e",
    "packaging_kgco2e",
    "processed_kgco2e_per_cm2",
    "server_kgco2e",
    "silicon_kgco2e_per_cm2",
    "waterfall",
]
