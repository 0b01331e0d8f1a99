"""Tables of plans and other answers: titles, columns in the order of reading, headings and units."""

from __future__ import annotations

from collections.abc import Sequence

from planner.trace.records import Record

# Documents of before called one `as_today`.
BASELINES = ("cost_only", "no_purchases", "keep_everything", "usual_practice", "as_today")

# Table -> title and columns, in the order of reading; a JSON object keeps no order of its own.
_SHEETS = {
    "summary": (
        "The plan and its baselines",
        "measure unit plan cost_only no_purchases keep_everything usual_practice",
    ),
    "actions": ("What to do, by when", "by action nodes sku where cash_usd then"),
    "purchases": (
        "What to buy",
        "period site sku server accelerator nodes accelerators order_units order_by arrives lead_time_d "
        "price_usd_per_node rebate_fraction capex_usd price_kind price_source",
    ),
    "disposals": (
        "What to sell or scrap",
        "period site sku from nodes what because value_usd_per_node sale_usd_per_node proceeds_usd "
        "keeping_usd_per_node",
    ),
    "moves": ("What to move", "period sku from to nodes in_service move_usd move_kgco2e"),
    "rental": (
        "What to rent",
        "period location sku nodes node_h rent_usd_per_node_h rent_usd embodied_kgco2e",
    ),
    "commitments": (
        "What to reserve",
        "period location sku commitment signed nodes ends rent_usd_per_node_h rent_usd due_usd left_usd",
    ),
    "fleet": (
        "The fleet, period by period",
        "period site sku in_service_nodes used_nodes idle_nodes under_way_nodes parked_nodes spare_nodes "
        "retired_nodes",
    ),
    "jobs": (
        "Training jobs",
        "job site sku nodes shared_with crosses count power_cap_fraction way layout software start "
        "finish_p50 finish_p95 deadline tokens_per_s samples_per_s waiting_factor ettr_fraction "
        "interval_min checkpoint "
        "energy_kwh carbon_kgco2e energy_usd",
    ),
    "pausable": (
        "Pausable jobs, period by period",
        "job period site sku way software most_nodes mean_nodes node_h done_fraction energy_kwh",
    ),
    "services": (
        "Services",
        "service period site sku model way engine tensor_parallel groups stages prefill_replicas "
        "prefill_accelerators prefill_groups prefill_stages decode_replicas decode_accelerators "
        "decode_groups decode_stages power_cap_fraction replicas standby "
        "capacity_per_s demand_per_s first_token_s per_token_s response_s availability_fraction "
        "requests_fraction quality_loss_fraction mean_quality_loss_fraction pipeline time_fraction "
        "stage_time_s users user_latency_s",
    ),
    "verification": (
        "Services played request by request",
        "service period site sku measure simulated_p50_s closed_p50_s simulated_p90_s closed_p90_s "
        "simulated_p99_s closed_p99_s off_fraction in_time_fraction closed_in_time_fraction",
    ),
    "pools": ("Pools", "pool period site sku way node_h held_node_h reference_h"),
    "needs": ("What pools need", "pool period stated need unit reference needed_h"),
    "placements": (
        "Embedding tables on accelerators that share them",
        "work file sku accelerators fits imbalance_ratio",
    ),
    "feeding": (
        "Workers that feed training runs",
        "job site sku workers supplied_fraction power_kw racks worker_h usd kgco2e",
    ),
    "data": ("Data of training runs", "job origin pool share_fraction amount unit usd"),
    "cost": ("Cost", "label usd"),
    "chance": (
        "How sure each service, pool and deadline is",
        "work period needed provided unit headroom_fraction delivery_fraction chance_fraction",
    ),
    "stress": ("Bad cases", "case holds breaks_first short_nodes recourse usd kgco2e"),
    "recourse": ("Ways out of bad cases", "case way added_nodes cheapest usd kgco2e"),
    "knowable": ("What your firm could state", "facts kind narrows_fraction how"),
    "views": ("The money in three views", "line economic_usd cash_usd accounts_usd"),
    "bridge": ("From the economic cost to cash, and to the accounts", "line to_cash_usd to_accounts_usd"),
    "cash": (
        "Cash, month by month",
        "month deposits_usd deliveries_usd bills_usd data_usd sales_usd cash_usd so_far_usd",
    ),
    "accounts": (
        "The accounts, period by period",
        "period bills_usd data_usd depreciation_usd loss_usd expense_usd book_usd value_usd",
    ),
    "present_value": (
        "Present cost, by what the fleet is worth at the end",
        "end paid_usd today_usd left_usd present_usd",
    ),
    "npv": (
        "What the plan is worth over the plans next to it",
        "against end baseline_present_usd plan_present_usd npv_usd pays_back",
    ),
    "life_cost": (
        "Cost over the life of the hardware, the last period going on",
        "over within_usd later_bills_usd later_capital_usd cost_usd usd_per_y left_usd",
    ),
    "unit_costs": (
        "What a unit of work costs and emits",
        "work amount unit usd kgco2e usd_per_unit kgco2e_per_unit",
    ),
    "accelerator_hours": (
        "What an accelerator costs and emits in an hour",
        "site sku accelerator_h used_h used_fraction usd usd_per_accelerator_h used_usd_per_accelerator_h "
        "kgco2e kgco2e_per_accelerator_h used_kgco2e_per_accelerator_h",
    ),
    "use": ("How much of its time each SKU is used", "period site sku node_h used_node_h used_fraction"),
    "carbon": ("Carbon", "label kgco2e"),
    "whole_ledger": (
        "The whole ledger: what is minimised, and what stands around it",
        "line scope boundary minimised kgco2e",
    ),
    "whole_scopes": ("The whole ledger by scope", "scope minimised_kgco2e around_kgco2e whole_kgco2e"),
    "water": ("Water", "site onsite_l offsite_l"),
    "energy": ("Where the energy goes", "site use it_kwh overhead_kwh"),
    "hours": (
        "What runs at which hour",
        "period site day_type days hours grid_kgco2e_per_kwh electricity_usd_per_kwh awake_nodes "
        "quiet_nodes lent_nodes pool_nodes job_nodes off_nodes idle_nodes energy_kwh",
    ),
    "levers": (
        "What each lever brings on the same fleet",
        "lever saved_usd saved_kgco2e alone_saved_usd alone_saved_kgco2e",
    ),
    "site_energy": (
        "What batteries and the sun at the sites do",
        "site battery_kwh charged_kwh given_back_kwh load_kwh import_kwh solar_kwh spilled_kwh peak_kw "
        "matched_year_fraction matched_hour_fraction usd kgco2e",
    ),
    "clean_energy": (
        "Clean energy by the hour",
        "site load_kwh matched_kwh matched_hour_kwh matched_period_fraction matched_hour_fraction "
        "location_kgco2e market_kgco2e hourly_kgco2e",
    ),
    "places": (
        "What sites charge",
        "period site occupied_kw committed_kw space_usd peak_kw peak_usd",
    ),
    "by_period": ("Period by period", "period cost_usd carbon_kgco2e energy_kwh capex_usd"),
    "limits": ("Limits", "limit where period used allowed left unit share_fraction binding"),
    "contracts": ("Clean energy", "contract site period matched_kwh premium_usd avoided_kgco2e"),
    "prices": (
        "What one more of each limit is worth",
        "limit where period unit saving_unit relaxed_saving_per_unit held_saving_per_unit more_by "
        "more_change more_least more_most less_by less_change less_least less_most",
    ),
    "ties": (
        "Plans within the gap",
        "tie excess_fraction cost_usd carbon_kgco2e changes differs",
    ),
    "alternatives": (
        "Plans that cost little more",
        "alternative excess_fraction cost_usd carbon_kgco2e nodes_bought distance_fraction differs",
    ),
    "alternatives_dropped": ("What does not fit, and why", "what sku reason count"),
    "facts": ("Facts and their sources", "key value unit low high kind source locator note"),
    "facts_weighed": (
        "Facts also weighed: those of the options not taken",
        "key value unit low high kind source locator note",
    ),
}
TITLES = {name: title for name, (title, _) in _SHEETS.items()}
# Tables outside of the list of a plan's.
_OTHER_COLUMNS = {
    "totals": "name label value unit p5 p50 p95",
    "tornado": "fact unit low high at_low at_high at_unit",
    "ways": "gives_way key stated needed",
    "clash": "limit where period by unit share_fraction",
    "checkpoints": (
        "interval_min ettr_fraction lost_fraction checkpoint_fraction restart_fraction "
        "usd_per_useful_h kgco2e_per_useful_h"
    ),
    "marks": "name interval_min ettr_fraction usd_per_useful_h kgco2e_per_useful_h",
    "policies": (
        "objective policy interval_min local_saves flat_low_min flat_high_min ettr_fraction "
        "usd_per_useful_h kgco2e_per_useful_h"
    ),
    "stops": "cause per_month restart_min rolled_back_min lost_h",
    "waiting": "slow_fraction slowdown_factor spread_fraction waiting_factor waited_h",
    "recovery": ("choice restart_min spares interval_min ettr_fraction usd_per_useful_h kgco2e_per_useful_h"),
    "detection": ("choice unfound_per_month interval_min ettr_fraction usd_per_useful_h kgco2e_per_useful_h"),
    "by_nodes": (
        "nodes mttf_h interval_min flat_low_min flat_high_min money_interval_min carbon_interval_min "
        "ettr_fraction ettr_low_fraction ettr_high_fraction usd_per_useful_h kgco2e_per_useful_h"
    ),
}
COLUMNS = {name: tuple(columns.split()) for name, (_, columns) in _SHEETS.items()} | {
    name: tuple(columns.split()) for name, columns in _OTHER_COLUMNS.items()
}
WAYS = "What is enough, by the keys of the file"

# Key -> heading and unit, where the key alone does not say it well.
_HEADINGS = {
    "sku": ("SKU", ""),
    "what": ("for", ""),
    "grid_kgco2e_per_kwh": ("grid, for a kWh", "kgCO2e"),
    "electricity_usd_per_kwh": ("price, for a kWh", "USD"),
    "peak_before_kw": ("peak before", "kW"),
    "peak_kw": ("peak", "kW"),
    "occupied_kw": ("occupied", "kW"),
    "committed_kw": ("committed", "kW"),
    "import_kwh": ("from the grid", "kWh"),
    "solar_kwh": ("sun used", "kWh"),
    "spilled_kwh": ("sun not used", "kWh"),
    "matched_year_fraction": ("matched by the year", "%"),
    "matched_period_fraction": ("matched by the period", "%"),
    "matched_hour_fraction": ("matched by the hour", "%"),
    "matched_hour_kwh": ("matched by the hour", "kWh"),
    "location_kgco2e": ("by location", "kgCO2e"),
    "market_kgco2e": ("market, by the period", "kgCO2e"),
    "hourly_kgco2e": ("market, by the hour", "kgCO2e"),
    "alone_saved_usd": ("saved alone", "USD"),
    "alone_saved_kgco2e": ("saved alone", "kgCO2e"),
    "onsite_l": ("on site", "L"),
    "offsite_l": ("at power stations", "L"),
    "baseline_present_usd": ("its present cost", "USD"),
    "plan_present_usd": ("present cost of the plan", "USD"),
    "npv_usd": ("NPV of the plan over it", "USD"),
    "pays_back": ("further cash is back", ""),
    "label": ("term", ""),
    "name": ("mark", ""),
    "usd": ("cost", "USD"),
    "kgco2e": ("carbon", "kgCO2e"),
    "plan": ("this plan", ""),
    "at_low": ("objective at low", ""),
    "at_high": ("objective at high", ""),
    "capex_usd": ("purchases", "USD"),
    "it_kwh": ("computers", "kWh"),
    "overhead_kwh": ("cooling and power supply", "kWh"),
    "price_usd_per_node": ("price of a node", "USD"),
    "value_usd_per_node": ("value of a node", "USD"),
    "sale_usd_per_node": ("what a sale takes", "USD"),
    "keeping_usd_per_node": ("keeping it takes", "USD"),
    "usd_per_unit": ("each", "USD"),
    "kgco2e_per_unit": ("each", "kgCO2e"),
    "usd_per_accelerator_h": ("an hour", "USD"),
    "kgco2e_per_accelerator_h": ("an hour", "kgCO2e"),
    "used_usd_per_accelerator_h": ("a used hour", "USD"),
    "used_kgco2e_per_accelerator_h": ("a used hour", "kgCO2e"),
    "usd_per_y": ("a year", "USD"),
    "move_usd": ("cost", "USD"),
    "move_kgco2e": ("carbon", "kgCO2e"),
    "energy_usd": ("electricity", "USD"),
    "node_h": ("node time", "h"),
    "rent_usd_per_node_h": ("rent of a node-hour", "USD"),
    "reference_h": ("work, in time of the reference node", "h"),
    "ettr_fraction": ("ETTR", "%"),
    "simulated_p50_s": ("P50", "s"),
    "closed_p50_s": ("P50 by the plan", "s"),
    "simulated_p90_s": ("P90", "s"),
    "closed_p90_s": ("P90 by the plan", "s"),
    "simulated_p99_s": ("P99", "s"),
    "closed_p99_s": ("P99 by the plan", "s"),
    "off_fraction": ("P99 by the plan is off by", "%"),
    "in_time_fraction": ("in time", "%"),
    "closed_in_time_fraction": ("in time by the plan", "%"),
    "interval_min": ("interval", "min"),
    "checkpoint_fraction": ("writing", "%"),
    "restart_fraction": ("restarting", "%"),
    "share_fraction": ("share of limit", "%"),
    "saving_unit": ("in", ""),
    "relaxed_saving_per_unit": ("one more is worth, nodes in parts", ""),
    "held_saving_per_unit": ("one more is worth, whole numbers held", ""),
    "more_by": ("with so much more", ""),
    "more_change": ("more changes the objective by", ""),
    "more_least": ("more: at least", ""),
    "more_most": ("more: at most", ""),
    "less_by": ("with so much less", ""),
    "less_change": ("less changes the objective by", ""),
    "less_least": ("less: at least", ""),
    "less_most": ("less: at most", ""),
    "regret_at_the_end_fraction": ("keeping it costs", "%"),
    "usd_per_tonne_saved": ("a tonne less costs", "USD"),
    "excess_fraction": ("above the best", "%"),
    "distance_fraction": ("how different", "%"),
    "finish_p50": ("finish, median", ""),
    "finish_p95": ("finish, 95 %", ""),
    "tokens_per_s": ("tokens", "1/s"),
    "capacity_per_s": ("capacity", "1/s"),
    "demand_per_s": ("peak demand", "1/s"),
    "rate_per_s": ("rate", "1/s"),
    "low_per_s": ("rate, low", "1/s"),
    "high_per_s": ("rate, high", "1/s"),
    "replica_kw": ("power", "kW"),
    "node_kw": ("power of a node", "kW"),
    "each_j": ("energy of each", "J"),
    "million_usd": ("a million costs", "USD"),
    "million_kgco2e": ("a million emits", "kgCO2e"),
    "usd_per_useful_h": ("money per useful hour", "USD"),
    "kgco2e_per_useful_h": ("carbon per useful hour", "kgCO2e"),
    "usd_low_per_useful_h": ("money per useful hour, low", "USD"),
    "usd_high_per_useful_h": ("money per useful hour, high", "USD"),
    "kgco2e_low_per_useful_h": ("carbon per useful hour, low", "kgCO2e"),
    "kgco2e_high_per_useful_h": ("carbon per useful hour, high", "kgCO2e"),
    "freed_h": ("sooner by", "h"),
    "spared_usd": ("money saved", "USD"),
    "spared_kgco2e": ("carbon saved", "kgCO2e"),
    "mttf_h": ("MTTF", "h"),
    "low_mttf_h": ("MTTF low", "h"),
    "high_mttf_h": ("MTTF high", "h"),
    "low_ettr_fraction": ("ETTR low", "%"),
    "high_ettr_fraction": ("ETTR high", "%"),
    "ettr_low_fraction": ("ETTR low", "%"),
    "ettr_high_fraction": ("ETTR high", "%"),
    "money_interval_min": ("best for money", "min"),
    "carbon_interval_min": ("best for carbon", "min"),
    "flat_low_min": ("as good from", "min"),
    "flat_high_min": ("as good to", "min"),
    "measured_mttf_h": ("MTTF here", "h"),
    "measured_low_h": ("low", "h"),
    "measured_high_h": ("high", "h"),
    "model_mttf_h": ("model", "h"),
    "per_1000_node_d": ("per 1000 node-days", ""),
    "expected_per_1000_node_d": ("to expect", ""),
    "poisson_low": ("Poisson's low", ""),
    "poisson_high": ("Poisson's high", ""),
    "mape_fraction": ("MAPE", "%"),
    "median_ape_fraction": ("median APE", "%"),
    "aic": ("AIC", ""),
    "fit_p": ("p of the fit", ""),
}


# Column -> the column of its row that says its unit, the same in all rows of a table.
UNIT_OF_ROW = {"at_low": "at_unit", "at_high": "at_unit"}


_SUFFIXES = {
    "kgco2e": "kgCO2e",
    "kwh": "kWh",
    "usd": "USD",
    "fraction": "%",
    "h": "h",
    "s": "s",
    "ms": "ms",
    "min": "min",
    "d": "d",
    "gb": "GB",
}


def column_unit(key: str, rows: Sequence[Record] = ()) -> str:
    """The unit in which a column of this name is kept: shares as they are, not in percent; empty for none.

    Some columns have it from their `rows`.
    """
    _, unit = heading_of(key)
    return "1" if unit == "%" else unit or unit_of_row(key, rows)


def unit_of_row(key: str, rows: Sequence[Record]) -> str:
    """The unit of a column as its rows say it; empty where they do not."""
    return next((row[UNIT_OF_ROW[key]] for row in rows), "") if key in UNIT_OF_ROW else ""


def heading_of(key: str) -> tuple[str, str]:
    """Heading of a column, and its unit as shown: shares in percent; empty where the name says none."""
    if key in _HEADINGS:
        return _HEADINGS[key]
    name, _, last = key.rpartition("_")
    if name and last in _SUFFIXES:
        return name.replace("_", " "), _SUFFIXES[last]
    return key.replace("_", " "), ""
