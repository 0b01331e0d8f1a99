"""Memory, drives and end of life: against printed values of Boavizta and ADEME."""

import numpy as np
import pytest

from carbon.embodied import drives_kgco2e, end_of_life_kgco2e


def test_a_memory_module_as_boavizta_counts_it():
    """Boavizta's methodology page: 32 GB at 1.79 GB/cm2 and 2.2 kg/cm2 with a base of 5.22 is 44.55 kg."""
    got = drives_kgco2e(drives=1, drive_gb=32.0, capacity_kgco2e_per_gb=2.2 / 1.79, base_kgco2e=5.22)

    assert got == pytest.approx(44.55, abs=5e-3)


def test_the_storage_of_a_checkpoint_spans_an_order_of_magnitude():
    """2 TB on drives at 0.006 to 0.16 kg/GB (Seagate to Tannu and Nair): 27 times, before the server."""
    low, high = drives_kgco2e(
        drives=1, drive_gb=2000.0, capacity_kgco2e_per_gb=np.array([0.006, 0.16]), base_kgco2e=0.0
    )

    assert [low, high] == pytest.approx([12.0, 320.0])
    assert high / low == pytest.approx(26.7, abs=0.05)


def test_end_of_life_goes_by_mass():
    """ADEME/Falk: 1.51 kg/kg, so 2.55 kg for a card of 1.69 kg and 197 kg for a server of 130.5 kg."""
    got = end_of_life_kgco2e(mass_kg=np.array([1.69, 130.5]), end_of_life_kgco2e_per_kg=1.51)

    assert got == pytest.approx([2.5519, 197.055])
