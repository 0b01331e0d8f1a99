"""Components, hosts, storage, transport and end of life: against printed values of Boavizta and ADEME."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.embodied import (
    circuit_board_kgco2e,
    drives_kgco2e,
    end_of_life_kgco2e,
    fabric_share_kgco2e,
    host_kgco2e,
    mass_kgco2e,
    pieces_kgco2e,
    processor_kgco2e,
    server_share_kgco2e,
    storage_share_kgco2e,
    switch_kgco2e,
    transport_kgco2e,
    whole_life_kgco2e,
)

POSITIVE = st.floats(0.0, 1e6)


def test_a_memory_module_as_boavizta_counts_it():
    """Boavizta's methodology page: 32 GB at 1.79 GB/cm2 and 2.2 kg/cm2 with a base of 5.22 is 44.55 kg."""
    got = drives_kgco2e(drives=1, drive_gb=32.0, capacity_kgco2e_per_gb=2.2 / 1.79, base_kgco2e=5.22)

    assert got == pytest.approx(44.55, abs=5e-3)


def test_a_processor_as_boavizta_counts_it():
    """Boavizta's methodology page: 694 mm2 at 0.0197 kg/mm2 with a base of 9.14 is 22.81 kg."""
    got = processor_kgco2e(processors=2, die_cm2=6.94, die_kgco2e_per_cm2=1.97, base_kgco2e=9.14)

    assert got == pytest.approx(2 * 22.81, abs=0.01)


def test_a_card_from_its_parts():
    """ADEME/Falk factors on an H100: board 9.63, casing 6.51, heat sink 5.17 kg."""
    board = circuit_board_kgco2e(board_cm2=296.37, board_kgco2e_per_cm2=0.0325)
    metal = mass_kgco2e(mass_kg=np.array([0.78923, 0.90077]), material_kgco2e_per_kg=np.array([8.25, 5.74]))

    assert [board, *metal] == pytest.approx([9.632, 6.511, 5.170], abs=1e-3)


def test_a_host_is_the_sum_of_its_parts():
    """Boavizta's factors on 2 processors, 12 modules of 32 GB, a 1 TB drive and 2 supplies: 982 kg by hand.

    Memory is 54 % of it.
    """
    parts = {
        "processors_kgco2e": processor_kgco2e(
            processors=2, die_cm2=2.45, die_kgco2e_per_cm2=1.97, base_kgco2e=9.14
        ),
        "memory_kgco2e": drives_kgco2e(
            drives=12, drive_gb=32.0, capacity_kgco2e_per_gb=2.2 / 1.79, base_kgco2e=5.22
        ),
        "drives_kgco2e": drives_kgco2e(
            drives=1, drive_gb=1000.0, capacity_kgco2e_per_gb=2.2 / 48.5, base_kgco2e=6.34
        ),
        "boards_kgco2e": pieces_kgco2e(pieces=1, piece_kgco2e=66.1),
        "supplies_kgco2e": mass_kgco2e(mass_kg=2 * 2.99, material_kgco2e_per_kg=24.3),
        "chassis_kgco2e": 150.0,
        "network_cards_kgco2e": 0.0,
        "assembly_kgco2e": 6.68,
    }

    got = host_kgco2e(**parts)

    by_hand = 2 * 13.9665 + 12 * 44.5496 + 51.7008 + 66.1 + 145.314 + 150 + 6.68
    assert got == pytest.approx(by_hand, abs=0.01)
    assert parts["memory_kgco2e"] / got == pytest.approx(0.54, abs=0.01)


def test_the_storage_of_a_checkpoint_spans_an_order_of_magnitude():
    """2 TB on drives at 0.006 to 0.16 kg/GB (Seagate to Tannu and Nair): 27 times, before the server."""
    low, high = drives_kgco2e(
        drives=1, drive_gb=2000.0, capacity_kgco2e_per_gb=np.array([0.006, 0.16]), base_kgco2e=0.0
    )

    assert [low, high] == pytest.approx([12.0, 320.0])
    assert high / low == pytest.approx(26.7, abs=0.05)


def test_stored_data_takes_its_room():
    """Three copies of 10 TB, drives filled to 80 %: 37.5 of 300 TB, an eighth of 2,400 kg."""
    got = storage_share_kgco2e(
        stored_gb=1e4, copies=3, usable_fraction=0.8, raw_gb=3e5, storage_server_kgco2e=2400.0
    )

    assert got == pytest.approx(300.0)


@given(parts=st.lists(st.floats(0.1, 1e3), min_size=2, max_size=6))
def test_shares_of_a_full_store_add_up_to_the_store(parts):
    """Users who fill the usable room between them carry the server, no more and no less."""
    shares = [
        storage_share_kgco2e(
            stored_gb=part, copies=2, usable_fraction=0.5, raw_gb=4 * sum(parts), storage_server_kgco2e=900.0
        )
        for part in parts
    ]

    assert sum(shares) == pytest.approx(900.0)


def test_a_fabric_counted_piece_by_piece():
    """A two-level fat tree of 64-port switches for 128 servers of 8 ports: 48 switches and 4,096 optics.

    At 250 and 5 kg each that is 253.75 kg a server, 4 % of a host and eight boards of 7,012 kg.
    """
    one = switch_kgco2e(
        switch_chip_kgco2e=22.0,
        board_kgco2e=65.0,
        chassis_kgco2e=23.0,
        supplies_kgco2e=76.0,
        ports=64,
        port_kgco2e=1.0,
    )

    got = fabric_share_kgco2e(switches=48, switch_kgco2e=one, optics=4096, optic_kgco2e=5.0, servers=128)

    assert one == pytest.approx(250.0)
    assert got == pytest.approx(253.75)
    assert got / (5700 + 8 * 164) == pytest.approx(0.036, abs=1e-3)


@pytest.mark.parametrize(
    ("truck_km", "boat_km", "plane_km", "kgco2e"),
    [(1000, 19000, 0, 0.5122), (1000, 0, 9908, 35.4161), (0, 0, 0, 0.0)],
)
def test_a_card_by_sea_and_by_air(truck_km, boat_km, plane_km, kgco2e):
    """ADEME/Falk factors for 1.69 kg, worked by hand: by air 70 times what it is by sea."""
    got = transport_kgco2e(
        mass_kg=1.69,
        truck_km=truck_km,
        truck_kgco2e_per_kg_km=5.04e-5,
        boat_km=boat_km,
        boat_kgco2e_per_kg_km=1.33e-5,
        plane_km=plane_km,
        plane_kgco2e_per_kg_km=2.11e-3,
    )

    assert got == pytest.approx(kgco2e, abs=1e-4)


def test_end_of_life_goes_by_mass():
    """ADEME/Falk: 1.51 kg/kg, so 2.55 kg for a card of 1.69 kg and 197 kg for a server of 130.5 kg."""
    got = end_of_life_kgco2e(mass_kg=np.array([1.69, 130.5]), end_of_life_kgco2e_per_kg=1.51)

    assert got == pytest.approx([2.5519, 197.055])


def test_per_gpu_with_its_server():
    """Morrison et al. (2025) print 463 kg: BLOOM's 2,500 kg host over 8 and 150 kg for the card, 462.5."""
    got = server_share_kgco2e(accelerators=8, accelerator_kgco2e=150.0, host_kgco2e=2500.0)

    assert got == pytest.approx(463, rel=2e-3)


@given(parts=st.tuples(POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE))
def test_a_whole_life_is_its_parts(parts):
    """Nothing is added and nothing counted twice."""
    names = (
        "server_kgco2e",
        "network_kgco2e",
        "building_share_kgco2e",
        "transport_kgco2e",
        "end_of_life_kgco2e",
    )

    assert whole_life_kgco2e(**dict(zip(names, parts, strict=True))) == pytest.approx(sum(parts))
