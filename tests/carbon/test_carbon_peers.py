"""Other tools' formulas give back what those tools print; none of these numbers is a truth."""

import math

import pytest

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import capacity_kgco2e
from carbon.peers import (
    CardWay,
    boavizta_card_kgco2e,
    boavizta_chip_kgco2e,
    boavizta_memory_kgco2e,
    ccf_server_kgco2e,
    ecologits_gpu_kwh,
    ecologits_gpus,
    ecologits_latency_s,
    ecologits_request_kgco2e,
    ecologits_request_kwh,
    green_algorithms_kwh,
    llmcarbon_chip_kgco2e,
    mlco2_kgco2e,
)
from carbon.yields import effective_die_cm2, seeds_yield_fraction, wafer_dies
from planner.performance.bundles import bundled


@pytest.mark.parametrize(
    ("instance", "memory_gb", "ssds", "kgco2e"),
    [("p4d.24xlarge", 1152, 8, 4676.79), ("p3dn.24xlarge", 768, 2, 3543.79), ("g4dn.metal", 384, 2, 3010.79)],
)
def test_servers_of_cloud_carbon_footprint(instance, memory_gb, ssds, kgco2e):
    """ccf-coefficients, coefficients-aws-embodied.csv; memory at 533/384 kg/GB above 16 GB."""
    got = ccf_server_kgco2e(
        base_kgco2e=1000.0,
        memory_gb=memory_gb,
        base_memory_gb=16,
        memory_kgco2e_per_gb=533 / 384,
        extra_cpus=1,
        cpu_kgco2e=100.0,
        ssds=ssds,
        ssd_kgco2e=100.0,
        hdds=0,
        hdd_kgco2e=50.0,
        gpus=8,
        gpu_kgco2e=150.0,
    )

    assert got == pytest.approx(kgco2e, rel=1e-5)


def test_processor_and_memory_of_boavizta():
    """Boavizta's methodology pages: a die of 694 mm2 has 22.81 kg, a module of 32 GB 44.55 kg."""
    cpu = boavizta_chip_kgco2e(die_cm2=6.94, die_kgco2e_per_cm2=1.97, base_kgco2e=9.14)
    module = boavizta_memory_kgco2e(
        capacity_gb=32, density_gb_per_cm2=1.79, die_kgco2e_per_cm2=2.2, base_kgco2e=5.22
    )

    assert cpu == pytest.approx(22.81, rel=1e-3)
    assert module == pytest.approx(44.55, rel=1e-3)


@pytest.mark.parametrize(
    ("card", "memory_gb", "memory_dies", "die_mm2", "board_cm2", "casing", "sink", "mass", "kgco2e"),
    [
        ("H100 SXM", 80, 6, 2808.45, 296.37, 0.78923, 0.90077, 1.69, 575.1),
        ("L4", 24, 12, 624.03, 93.13, 0.0, 0.0871, 0.142, 123.5),
    ],
)
def test_cards_of_boavizta(card, memory_gb, memory_dies, die_mm2, board_cm2, casing, sink, mass, kgco2e):
    """BoaviztAPI 2.5.0 gives 575.1 and 123.5 kg.

    The effective area of the memory is not printed: it follows from 15.5 mm2/GB as the effective area of the
    die does, with the constant of 1.00634 found there (see the test of yields).
    """
    wafer_cm2 = math.pi * 15**2
    each_cm2 = 0.155 * memory_gb / memory_dies
    memory_cm2 = memory_dies * effective_die_cm2(
        wafer_cm2=1.00634 * wafer_cm2,
        wafer_dies=wafer_dies(die_cm2=each_cm2, wafer_cm2=wafer_cm2, kerf_cm=0.02),
        yield_fraction=seeds_yield_fraction(area_cm2=each_cm2, defects_per_cm2=0.1),
    )

    got = boavizta_card_kgco2e(
        **bundled(
            {
                "die_cm2": die_mm2 / 100,
                "die_kgco2e_per_cm2": 4.26,
                "memory_die_cm2": memory_cm2,
                "memory_kgco2e_per_cm2": 18.4,
                "board_cm2": board_cm2,
                "board_kgco2e_per_cm2": 0.0325,
                "casing_kg": casing,
                "casing_kgco2e_per_kg": 8.25,
                "heat_sink_kg": sink,
                "heat_sink_kgco2e_per_kg": 5.74,
                "mass_kg": mass,
                "upstream_kgco2e_per_kg": 0.26,
                "truck_km": 1000,
                "truck_kgco2e_per_kg_km": 5.04e-5,
                "boat_km": 19_000,
                "boat_kgco2e_per_kg_km": 1.33e-5,
                "end_of_life_kgco2e_per_kg": 1.51,
            },
            way=CardWay,
        )
    )

    assert got == pytest.approx(kgco2e, rel=2e-3)


def test_the_cluster_of_xlm():
    """LLMCarbon, Table 5: 64 servers of 8 V100, 20.4 of 1,825 days; 0.648 t predicted, 0.66 t published."""
    server = (
        llmcarbon_chip_kgco2e(area_cm2=1.47, silicon_kgco2e_per_cm2=1.0)
        + capacity_kgco2e(capacity_gb=256, capacity_kgco2e_per_gb=0.4)
        + capacity_kgco2e(capacity_gb=32_768, capacity_kgco2e_per_gb=0.018)
        + llmcarbon_chip_kgco2e(area_cm2=111.6, silicon_kgco2e_per_cm2=1.2)
    )
    gpus = 512 * llmcarbon_chip_kgco2e(area_cm2=8.15, silicon_kgco2e_per_cm2=1.2)

    got = calendar_share_kgco2e(embodied_kgco2e=64 * server + gpus, used_h=20.4 * 24, lifetime_h=1825 * 24)

    assert got / 1000 == pytest.approx(0.648, rel=0.005)
    assert got / 1000 == pytest.approx(0.66, rel=0.03)


def test_eight_h100_for_a_day():
    """Green Algorithms v3 prints 193.204 kWh for 8 GPUs, 96 cores and 2 TB over 24 h at PUE 1.2.

    ML CO2 Impact counts the GPUs alone: 134.4 kWh, 51.6 kg at 384 g/kWh.
    """
    whole = green_algorithms_kwh(
        duration_h=24,
        cores=96,
        core_kw=3.6e-3,
        core_utilisation_fraction=1.0,
        gpus=8,
        gpu_kw=0.7,
        gpu_utilisation_fraction=1.0,
        memory_gb=2048,
        memory_kw_per_gb=0.3725e-3,
        pue=1.2,
        repeats=1,
    )
    gpus_alone = mlco2_kgco2e(device_h=8 * 24, tdp_kw=0.7, grid_kgco2e_per_kwh=0.384)

    assert whole == pytest.approx(193.204, rel=1e-4)
    assert gpus_alone == pytest.approx(51.6, abs=0.05)


def test_a_request_of_ecologits():
    """EcoLogits 0.11.3: 400 tokens of a dense 70B on H100, 16 bit, batch 64, PUE 1.2.

    It prints 0.263012 Wh, and 0.0226388 g embodied over three years of 365 days.
    """
    request = {"output_tokens": 400, "active_parameters": 70e9, "batch": 64}
    gpus = ecologits_gpus(parameters=70e9, bits_per_parameter=16, overhead_ratio=1.2, gpu_memory_gb=80)
    latency_s = ecologits_latency_s(
        **request, parameter_slope_s=6.785e-4, batch_slope_s=3.119e-4, offset_s=0.019474
    )
    gpu_kwh = ecologits_gpu_kwh(
        **request, slope_kwh=1.1665e-9, batch_decay_factor=0.011206, offset_kwh=4.0529e-8
    )

    used = ecologits_request_kwh(
        latency_s=latency_s, gpu_kwh=gpu_kwh, gpus=gpus, host_kw=1.2, gpus_a_host=8, batch=64, pue=1.2
    )
    embodied = ecologits_request_kgco2e(
        latency_s=latency_s,
        gpus=gpus,
        gpu_kgco2e=273.0,
        host_kgco2e=5700.0,
        gpus_a_host=8,
        lifetime_h=3 * 365 * 24,
        batch=64,
    )

    assert gpus == 4
    assert 1000 * used == pytest.approx(0.263012, rel=1e-3)
    assert 1000 * embodied == pytest.approx(0.0226388, rel=1e-3)
    julian = ecologits_request_kgco2e(
        latency_s=latency_s,
        gpus=gpus,
        gpu_kgco2e=273.0,
        host_kgco2e=5700.0,
        gpus_a_host=8,
        lifetime_h=lifetime_h(lifetime_y=3.0),
        batch=64,
    )
    assert julian == pytest.approx(embodied * 365 / 365.25)


@pytest.mark.parametrize(("billions", "gpus"), [(8, 1), (33, 1), (34, 2), (70, 4), (405, 16)])
def test_gpus_of_ecologits_are_a_power_of_two(billions, gpus):
    """At 2.4 bytes a parameter, overhead included, 33.3e9 parameters fill one GPU of 80 GB."""
    got = ecologits_gpus(
        parameters=billions * 1e9, bits_per_parameter=16, overhead_ratio=1.2, gpu_memory_gb=80
    )

    assert got == gpus


def test_drives_of_cloud_carbon_footprint():
    """100 kg for each solid-state drive, 50 kg for each hard disk: a known peer swaps the two."""
    nothing = {"base_kgco2e": 0.0, "memory_gb": 8, "base_memory_gb": 16, "memory_kgco2e_per_gb": 1.388}
    nothing |= {"extra_cpus": 0, "cpu_kgco2e": 100.0, "gpus": 0, "gpu_kgco2e": 150.0}

    got = ccf_server_kgco2e(**nothing, ssds=2, ssd_kgco2e=100.0, hdds=6, hdd_kgco2e=50.0)

    assert got == pytest.approx(500)


def test_half_used_processors_run_twice():
    """Green Algorithms: half of 400 W and of 600 W, all of 100 W of memory, 10 h, run twice: 12 kWh."""
    got = green_algorithms_kwh(
        duration_h=10,
        cores=40,
        core_kw=0.01,
        core_utilisation_fraction=0.5,
        gpus=2,
        gpu_kw=0.3,
        gpu_utilisation_fraction=0.5,
        memory_gb=100,
        memory_kw_per_gb=0.001,
        pue=1.0,
        repeats=2,
    )

    assert got == pytest.approx(12)


def test_a_mass_that_travels():
    """ADEME's factors for 2 kg: 0.26/kg upstream, 1,000 km by truck, 19,000 by boat, 1.51/kg at the end."""
    parts = ("die", "memory_die", "board")
    areas = {f"{part}_cm2": 0.0 for part in parts}
    rates = {"die_kgco2e_per_cm2": 4.26, "memory_kgco2e_per_cm2": 18.4, "board_kgco2e_per_cm2": 0.0325}
    metal = {
        "casing_kg": 0.0,
        "casing_kgco2e_per_kg": 8.25,
        "heat_sink_kg": 0.0,
        "heat_sink_kgco2e_per_kg": 5.74,
    }

    got = boavizta_card_kgco2e(
        **bundled(
            {
                **areas,
                **rates,
                **metal,
                "mass_kg": 2.0,
                "upstream_kgco2e_per_kg": 0.26,
                "truck_km": 1000,
                "truck_kgco2e_per_kg_km": 5.04e-5,
                "boat_km": 19_000,
                "boat_kgco2e_per_kg_km": 1.33e-5,
                "end_of_life_kgco2e_per_kg": 1.51,
            },
            way=CardWay,
        )
    )

    assert got == pytest.approx(0.52 + 0.1008 + 0.5054 + 3.02)
