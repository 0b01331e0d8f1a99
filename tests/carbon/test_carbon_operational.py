"""Job energy, carbon and water against published cards and papers; PUE once; nothing lost between states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.attribution import lifetime_h
from carbon.energy import energy_kwh, job_energy_kwh, job_energy_parts
from carbon.operational import operational_kgco2e, training_device_h, training_flops
from carbon.power import power_kw
from carbon.pue import facility_energy_kwh
from carbon.water import offsite_water_l

AMOUNT = st.floats(0.01, 1e6)


def facility_mwh(*, device_h, watts, pue):
    it_kwh = energy_kwh(power_kw=watts / 1000, duration_h=device_h)
    return facility_energy_kwh(it_energy_kwh=it_kwh, pue=pue) / 1000


def carbon_t(*, device_h, watts, pue, grid):
    facility_kwh = facility_mwh(device_h=device_h, watts=watts, pue=pue) * 1000
    return operational_kgco2e(facility_energy_kwh=facility_kwh, grid_kgco2e_per_kwh=grid) / 1000


@pytest.mark.parametrize(
    ("model", "device_h", "mwh", "tonnes"),
    [("7B", 82_432, 36, 14), ("13B", 135_168, 59, 23), ("33B", 530_432, 233, 90)],
)
def test_llama_energy_and_carbon(model, device_h, mwh, tonnes):
    """LLaMA (arXiv 2302.13971), Table 15: A100 at 400 W, PUE 1.1, 0.385 kg/kWh; printed without decimals."""
    assert facility_mwh(device_h=device_h, watts=400, pue=1.1) == pytest.approx(mwh, abs=0.6)
    assert carbon_t(device_h=device_h, watts=400, pue=1.1, grid=0.385) == pytest.approx(tonnes, abs=0.6)


@pytest.mark.parametrize(
    ("job", "device_h", "watts", "pue", "grid", "tonnes", "tolerance"),
    [
        # LLaMA Table 15: OPT as if it had run in LLaMA's data centre; printed without decimals.
        ("OPT-175B", 809_472, 400, 1.1, 0.385, 137, 0.01),
        # Llama 2 card and Table 2; PUE and grid are not printed, their product 0.4235 is implied.
        ("Llama 2 7B", 184_320, 400, 1.1, 0.385, 31.22, 0.001),
        ("Llama 2 13B", 368_640, 400, 1.1, 0.385, 62.44, 0.001),
        ("Llama 2 34B", 1_038_336, 350, 1.1, 0.385, 153.9, 0.001),
        # BLOOM (JMLR 24:253), section 4.2: dynamic consumption is hours times TDP on the French grid.
        ("BLOOM", 1_082_990, 400, 1.0, 0.057, 24.69, 0.001),
        # StarCoder (arXiv 2305.06161), section 5.7: 280 W assumed per A100.
        ("StarCoderBase", 320_256, 280, 1.2, 0.15495, 16.68, 0.001),
        # Post-training study of more than a million GPU-hours, worked with these assumptions.
        ("SFT-RL", 1_000_000, 700, 1.1, 0.4, 308, 0.005),
    ],
)
def test_job_carbon_from_device_hours(job, device_h, watts, pue, grid, tonnes, tolerance):
    got = carbon_t(device_h=device_h, watts=watts, pue=pue, grid=grid)

    assert got == pytest.approx(tonnes, rel=tolerance)


@pytest.mark.parametrize(
    ("job", "device_h", "product", "tonnes", "tolerance"),
    [
        ("Llama 3.1 8B", 1.46e6, 0.413, 420, 0.015),
        ("Llama 3.1 405B", 30.84e6, 0.413, 8930, 0.005),
        ("Llama 3.2 1B", 370_000, 0.413, 107, 0.01),
        ("Llama 3.2 11B Vision", 246_120, 0.413, 71, 0.01),
        ("Llama 4 Scout", 5.0e6, 0.387, 1354, 0.005),
    ],
)
def test_llama_cards_that_print_no_pue(job, device_h, product, tonnes, tolerance):
    """Meta's model cards, location-based, 700 W per H100; they print neither PUE nor grid factor.

    One product of the two fits all cards of a generation, which is what these rows test. It enters here as
    a grid factor with PUE 1.
    """
    assert carbon_t(device_h=device_h, watts=700, pue=1.0, grid=product) == pytest.approx(
        tonnes, rel=tolerance
    )


@pytest.mark.parametrize(
    ("model", "chips", "days", "watts", "pue", "grid", "mwh", "tonnes"),
    [
        ("T5-11B", 512, 20, 310, 1.12, 0.545, 85.7, 46.7),
        ("GShard-600B", 1024, 3.1, 288, 1.09, 0.177, 24.1, 4.3),
        ("GPT-3", 10_000, 14.8, 330, 1.10, 0.429, 1287, 552.1),
    ],
)
def test_jobs_of_known_duration_and_measured_power(model, chips, days, watts, pue, grid, mwh, tonnes):
    """Patterson et al. (arXiv 2104.10350), Table 4; days are rounded there, hence 2 %."""
    device_h = chips * days * 24

    assert facility_mwh(device_h=device_h, watts=watts, pue=pue) == pytest.approx(mwh, rel=0.02)
    assert carbon_t(device_h=device_h, watts=watts, pue=pue, grid=grid) == pytest.approx(tonnes, rel=0.02)


@pytest.mark.parametrize(
    ("model", "it_mwh", "pue", "grid", "tonnes"),
    [
        ("Gopher", 1066, 1.08, 0.33, 380),
        ("OPT-175B", 324, 1.1, 0.231, 82),
        ("OLMo 7B", 104, 1.1, 0.61, 70),
        ("OLMo 2 7B", 131, 1.2, 0.332, 52),
    ],
)
def test_jobs_of_measured_energy(model, it_mwh, pue, grid, tonnes):
    """OLMo (arXiv 2402.00838), Table 6, and OLMo 2 (arXiv 2501.00656), Table 19; printed to a tonne."""
    facility_kwh = facility_energy_kwh(it_energy_kwh=it_mwh * 1000, pue=pue)
    got = operational_kgco2e(facility_energy_kwh=facility_kwh, grid_kgco2e_per_kwh=grid)

    assert got / 1000 == pytest.approx(tonnes, rel=0.015)


def test_one_prompt():
    """Gemini (arXiv 2508.15734): 0.24 Wh at the meter, market-based 94 g/kWh, 0.023 g of scope 2."""
    got = operational_kgco2e(facility_energy_kwh=0.24e-3, grid_kgco2e_per_kwh=0.094)

    assert got * 1000 == pytest.approx(0.023, abs=5e-4)


@pytest.mark.parametrize(
    ("device_h", "watts", "pue", "grid", "kg"),
    [(418.8, 700, 1.11, 0.120, 39.048912), (6 * 196.2, 70, 1.4, 0.200, 23.073)],
)
def test_two_cards_that_show_their_arithmetic(device_h, watts, pue, grid, kg):
    """Hugging Face cards of two carbon audits, one on an H100 and one on six T4; exact products."""
    assert 1000 * carbon_t(device_h=device_h, watts=watts, pue=pue, grid=grid) == pytest.approx(kg, rel=1e-4)


def test_a_phone_over_three_and_a_half_years():
    """ACT v2.0 unit test: 273 mW at a duty of 72.3 % for 3.5 years of 365.25 days at 597 g/kWh: 3,615.3 g."""
    mean_kw = power_kw(idle_kw=0.0, max_kw=273e-6, utilisation_fraction=0.723)
    used_kwh = energy_kwh(power_kw=mean_kw, duration_h=lifetime_h(lifetime_y=3.5))

    got = operational_kgco2e(facility_energy_kwh=used_kwh, grid_kgco2e_per_kwh=0.597)

    assert 1000 * got == pytest.approx(3615.3, rel=1e-4)


def test_water_of_a_dry_cooled_job():
    """OLMo 2 7B (arXiv 2501.00656): 131 MWh, PUE 1.2, no water on site, 1.29 L/kWh off site: 202 kL."""
    got = offsite_water_l(facility_energy_kwh=131_000 * 1.2, offsite_l_per_kwh=1.29)

    assert got / 1000 == pytest.approx(202, rel=0.01)


@given(it_kwh=AMOUNT, pue=st.floats(1, 3), grid=st.floats(0, 1.5), times=st.floats(0, 10))
def test_carbon_is_linear_in_grid_and_energy_and_pue_enters_once(it_kwh, pue, grid, times):
    def carbon(it_energy_kwh, pue, grid_kgco2e_per_kwh):
        facility_kwh = facility_energy_kwh(it_energy_kwh=it_energy_kwh, pue=pue)
        return operational_kgco2e(facility_energy_kwh=facility_kwh, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)

    base = carbon(it_kwh, pue, grid)

    assert carbon(it_kwh, pue, times * grid) == pytest.approx(times * base, rel=1e-12)
    assert carbon(times * it_kwh, pue, grid) == pytest.approx(times * base, rel=1e-12)
    assert base == pytest.approx(pue * carbon(it_kwh, 1.0, grid), rel=1e-12)


STATES = ("useful_h", "lost_h", "checkpoint_h", "restart_h", "idle_h")
POWERS = {"training_kw": 10.0, "checkpoint_kw": 1.5, "restart_kw": 3.0, "idle_kw": 0.9}


def test_energy_by_state_is_hours_by_power():
    """64 nodes: useful and lost work at 10 kW, the stall at 15 % of it (OLMo logs 100 W of 700 W)."""
    parts = job_energy_parts(
        nodes=64, useful_h=100.0, lost_h=4.0, checkpoint_h=3.0, restart_h=2.0, idle_h=1.0, **POWERS
    )

    assert parts.useful_kwh == pytest.approx(64_000)
    assert parts.lost_kwh == pytest.approx(2560)
    assert parts.checkpoint_kwh == pytest.approx(288)
    assert parts.restart_kwh == pytest.approx(384)
    assert parts.idle_kwh == pytest.approx(57.6)
    assert parts.total_kwh == pytest.approx(67_289.6)


@given(
    hours=st.lists(st.floats(0, 1000), min_size=5, max_size=5),
    nodes=st.integers(1, 4096),
    cut=st.floats(0, 1),
)
def test_splitting_a_job_in_time_or_space_changes_nothing(hours, nodes, cut):
    """Energy is additive over hours and over nodes."""
    states = dict(zip(STATES, hours, strict=True))
    whole = job_energy_kwh(nodes=nodes, **states, **POWERS)

    first = job_energy_kwh(nodes=nodes, **{name: cut * value for name, value in states.items()}, **POWERS)
    rest = job_energy_kwh(
        nodes=nodes, **{name: (1 - cut) * value for name, value in states.items()}, **POWERS
    )
    one_by_one = np.sum(job_energy_kwh(nodes=np.ones(nodes), **states, **POWERS))

    assert first + rest == pytest.approx(whole, rel=1e-9)
    assert one_by_one == pytest.approx(whole, rel=1e-9)


def test_half_used_a100():
    """Cloud Carbon Footprint: an A100 idles at 46 W and takes at most 407 W, so 226.5 W at half load."""
    assert power_kw(idle_kw=0.046, max_kw=0.407, utilisation_fraction=0.5) == pytest.approx(0.2265)


@pytest.mark.parametrize(
    ("model", "parameters", "tokens", "peak", "efficiency", "watts", "pue", "grid", "tonnes"),
    [
        ("T5", 11e9, 600e9, 123, 0.37, 310, 1.12, 0.545, 45.74),
        ("GPT-3", 175e9, 300e9, 125, 0.197, 330, 1.10, 0.429, 553.34),
        ("GShard", 2.3e9, 1000e9, 123, 0.39, 288, 1.09, 0.177, 4.44),
        ("XLM", 0.55e9, 7000e9, 125, 0.212, 342, 1.10, 0.413, 37.62),
    ],
)
def test_projection_from_parameters_and_tokens(
    model, parameters, tokens, peak, efficiency, watts, pue, grid, tonnes
):
    """LLMCarbon's database (ICLR 2024, Table 4): 6 N D at its efficiency, active parameters only."""
    flops = training_flops(active_parameters=parameters, tokens=tokens, flops_per_parameter_token=6)
    device_h = training_device_h(
        flops=flops, peak_tflop_per_s=peak, efficiency_fraction=efficiency, effective_time_fraction=1.0
    )

    assert carbon_t(device_h=device_h, watts=watts, pue=pue, grid=grid) == pytest.approx(tonnes, rel=0.005)


def test_gpu_hours_of_llama_405b():
    """Llama 3 (arXiv 2407.21783): 15.6 T tokens at 38-43 % MFU, above 90 % effective time.

    The card says 30.84 M GPU-hours. A prediction from the middle of a range, hence 15 %.
    """
    flops = training_flops(active_parameters=405_853_388_800, tokens=15.6e12, flops_per_parameter_token=6)
    got = training_device_h(
        flops=flops, peak_tflop_per_s=989, efficiency_fraction=0.41, effective_time_fraction=0.9
    )

    assert got == pytest.approx(30.84e6, rel=0.15)


def test_a_pue_below_one_is_refused():
    """Overhead is not negative; 0.11 for 1.11 is a likely slip."""
    with pytest.raises(ValueError, match=r"pue is finite and at least 1, got 0\.11"):
        facility_energy_kwh(it_energy_kwh=1.0, pue=0.11)


def test_a_machine_that_idles_above_its_maximum_is_refused():
    with pytest.raises(ValueError, match=r"max_kw is at least idle_kw, got max 0\.5 and idle 0\.7"):
        power_kw(idle_kw=0.7, max_kw=0.5, utilisation_fraction=0.5)
