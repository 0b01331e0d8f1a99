"""What each column means in tables of answers that are no plan: jobs, fits, throughput, futures."""

from __future__ import annotations

from collections.abc import Mapping

from planner.report.meanings import meaning_of

_CALLED = {"name": "name, for `everfleet explain`", "label": "name in words", "value": "the number"}
_RATE = {
    "per_1000_node_d": "failures in 1,000 days of a node",
    "low": "low end of its interval",
    "high": "high end of its interval",
}
_JOB: Mapping[str, Mapping[str, str]] = {
    "scores": _CALLED,
    "phases": {
        "phase": "data, training, inference, storage and so on",
        "of_total_fraction": "share of the carbon of the job",
        "electricity_kgco2e": "carbon of electricity",
        "hardware_kgco2e": "share of the making of hardware",
        "what": "how much of it is counted",
    },
    "scopes": {
        "scope": "scope of the GHG Protocol",
        "in_total": "whether the total has it",
    },
    "failures": {
        "state": "what the hours of the nodes were for",
        "of_training_fraction": "share of the carbon of training",
    },
    "changes": {
        "what": "the one thing that is different",
        "from": "how it is in the job",
        "to": "how it is here",
        "kgco2e": "carbon of the job with it",
        "change_kgco2e": "carbon more, or less where negative",
        "change_fraction": "the same as a share of the job's carbon",
        "note": "what goes with it",
    },
    "predicted": {"duration_h": "hours from start to end, with failures"},
    "assumed": {"what": "what was not stated", "value": "what is used instead", "because": "why that"},
}
_FIT: Mapping[str, Mapping[str, str]] = {
    "read": {"read": "what was read from the log", "value": "how much, or which"},
    "rate": {"rate": "how it is estimated", **_RATE},
    "causes": {
        "cause": "cause of the failures, as the log has it",
        "failures": "number of failures",
        "of_all_fraction": "share of all failures",
        **_RATE,
        "drawn_together": "rate drawn toward that of all causes",
        "own_weight_fraction": "weight of the cause's own count in that",
    },
    "published_fleets": {
        "fleet": "fleet that published its failures",
        **_RATE,
        "counts": "what it counts as a failure",
        "accelerators_per_node": "chips of a node there",
        "this_log_to_it_ratio": "rate of this log over that one",
    },
    "mttf": {
        "low_mttf_h": "mean time to failure at the high end of the rate",
        "high_mttf_h": "mean time to failure at the low end of the rate",
        "low_ettr_fraction": "ETTR at the high end of the rate",
        "high_ettr_fraction": "ETTR at the low end of the rate",
    },
    "fits": {
        "lifetime": "family of lifetimes",
        "parameters": "its parameters with their intervals",
        "aic": "Akaike's criterion: the least fits best for its number of parameters",
        "log_likelihood": "logarithm of the likelihood",
        "largest_gap_fraction": "largest distance between the curve and the model",
        "fit_p": "chance of such a gap where the model is right",
        "median_d": "age that half of the units reach",
        "mean_d": "mean life",
    },
    "survival": {
        "age_d": "age of a unit",
        "survival_fraction": "share of units without a failure until then",
        "low_fraction": "low end of its band",
        "high_fraction": "high end of its band",
        "model_fraction": "the same by the fitted lifetime",
        "model_low_fraction": "low end of the model's band",
        "model_high_fraction": "high end of the model's band",
    },
    "risk": {
        "age_d": "age of a unit",
        "at_risk": "units that are watched at this age",
        "failed": "units that failed before it",
        "censored": "units whose watch ended before it",
    },
    "hazard": {
        "from_age_d": "age at which the interval begins",
        "to_age_d": "age at which it ends",
        "failed": "first failures in it",
        **_RATE,
    },
    "causes_of_first_failure": {
        "cause": "cause of the first failure",
        "first_failures": "units whose first failure it was",
        "by_age_d": "until this age",
        "failed_of_it_fraction": "share of units that fail of it first",
        "low_fraction": "low end of its interval",
        "high_fraction": "high end of its interval",
    },
    "shapes": {
        "times": "which times are fitted",
        "count": "number of times",
        "shape": "shape of the Weibull: below 1 failures come in bursts or early",
        "low": "low end of the shape's interval",
        "high": "high end of the shape's interval",
        "scale_h": "scale of the Weibull",
    },
    "nodes": {
        "node": "node, as the log has it",
        "failures": "number of its failures",
        "per_1000_node_d": "its failures in 1,000 days",
        "expected_per_1000_node_d": "what to expect of it after its count",
        "poisson_p": "chance of so many where all nodes are alike",
        "fleet_p": "chance of so many in a fleet as uneven as this one",
        "beyond_chance": "whether chance alone does not explain it",
    },
    "outage_lengths": {
        "outage": "mean, median or a percentile",
        "length_h": "its length",
        "length_d": "its length in days",
    },
    "spares": {
        "pool": "nodes that share spares",
        "spares": "spares that are enough",
        "mean_down": "nodes that are down in the mean",
    },
    "pool_backtest": {
        "pool": "nodes that share spares",
        "reviews": "times at which spares were set anew",
        "covered_fraction": "share of the time in which they were enough",
        "mean_spares": "spares in the mean",
        "pinball": "mean pinball loss: what being off costs at the promised chance",
    },
    "nodes_down": {"day": "day of the log", "most_down": "most nodes that were down at once"},
    "forecast": {
        "next": "period that is forecast",
        "node_h": "hours of nodes in it",
        "past_periods": "periods of this length in the log",
        "median": "failures, median",
        "mean": "failures, mean",
        "low": "low end of the forecast",
        "high": "high end of the forecast",
        "poisson_low": "low end where the rate stays as it is",
        "poisson_high": "high end where the rate stays as it is",
        "drift_fraction": "share of what is known of the rate that a period takes away",
    },
    "periods": {
        "from_day": "day of the log on which the period begins",
        "length_d": "its length",
        "failures": "failures in it",
        "per_1000_node_d": "failures in 1,000 days of a node",
    },
    "next_period": {
        "from_day": "day of the log on which the period begins",
        "length_d": "its length",
        "median": "failures, median",
        "low": "low end of the forecast",
        "high": "high end of the forecast",
    },
    "measured": {
        "nodes": "size of the jobs",
        "jobs": "jobs of that size",
        "failures": "jobs that failed by hardware",
        "measured_mttf_h": "hours of running over failures",
        "measured_low_h": "low end of its interval",
        "measured_high_h": "high end of its interval",
        "model_mttf_h": "what the rate of a node says for that size",
        "measured_to_model_ratio": "measured over that",
        "disagrees": "whether the model is outside the interval",
        "queue_mean_min": "wait in the queue, mean",
        "queue_median_min": "wait in the queue, median",
    },
}
_SIZE = {
    "nodes": "nodes of this size",
    "accelerators": "chips of this size; where a model is served, of one replica",
    "fits": "whether it can be done",
    "layout": "how the work is divided over chips",
    "batch": "sequences, or images, of a step",
    "memory_gb": "memory of a chip that is used",
    "tp": "chips over which each layer is divided",
    "pp": "stages of layers",
    "interleave": "parts of a stage that take turns",
    "cp": "chips over which a sequence is divided",
    "micro_batch": "sequences that a chip works on at once",
    "recompute": "how much is computed again to save memory: 0 nothing, 1 parts, 2 all",
    "sharding": "what copies share: 0 nothing, 1 states of the optimiser, 2 gradients, 3 weights",
    "ep": "chips over which experts are divided",
    "dp": "copies of the model",
    "rate_per_s": "tokens, requests or images in a second",
    "low_per_s": "low end of the rate, by the error of published runs",
    "high_per_s": "high end of the rate",
    "error_fraction": "error of rates on this chip, 90 of 100 runs within",
    "tokens_per_s_per_gpu": "tokens in a second of one chip",
    "step_s": "time of a step",
    "exposed_fraction": "share of a step that waits for the network",
    "node_kw": "power of a node",
    "per_kwh": "tokens, requests or images for a kilowatt-hour at the nodes",
    "each_j": "energy of each",
    "million_usd": "money of a million, on nodes of one's own",
    "million_kgco2e": "carbon of a million, the making of nodes included",
    "mfu_fraction": "model FLOP/s as a share of the peak",
}
_SERVED = {
    "limit_per_s": "rate at which a replica is full",
    "running": "requests that run at once",
    "ttft_s": "time to the first token, at the promised percentile",
    "tpot_s": "time of each further token",
    "wait_s": "wait for a place, mean",
    "tokens_per_s": "tokens written in a second",
    "replica_kw": "power of a replica",
    "tokens_per_kwh": "tokens written for a kilowatt-hour at the nodes",
}
_THROUGHPUT: Mapping[str, Mapping[str, str]] = {
    "best": {**_SIZE, **_SERVED},
    "rows": {**_SIZE, **_SERVED, "reason": "why it cannot be done"},
    "reached": {**_SIZE, "sure_nodes": "nodes that are enough at the low end of the rate"},
}
_PLACEMENT: Mapping[str, Mapping[str, str]] = {
    "sizes": {
        "fits": "whether the tables fit",
        "reason": "why they do not",
        "step_s": "look-up and exchange on the device that takes longest",
        "bound_s": "time that no placement is below",
        "gap_fraction": "how much less the best may take at most",
        "imbalance_ratio": "what look-ups of even parts are multiplied with to come to the same",
        "proven": "whether it is proven the least",
    },
    "tiers": {
        "tier": "hbm, host memory or drives",
        "held_gb": "what all devices hold there",
        "room_gb": "what all devices could hold there",
        "full_fraction": "the one as a share of the other",
        "moved_gb": "bytes that are read from there in a step",
        "moved_fraction": "the same as a share of all tiers",
    },
    "devices": {
        "device": "SKU, node and accelerator",
        "pieces": "tables and parts that it holds",
        "hbm_gb": "what it holds in high-bandwidth memory",
        "host_gb": "what it holds in its share of the host's memory",
        "ssd_gb": "what it holds on its drive",
        "lookup_s": "time of its look-ups in a step",
        "exchange_s": "time in which its vectors are sent",
        "device_s": "the two together",
        "of_mean_ratio": "the same over the mean of the devices",
    },
    "placed": {
        "table": "embedding table of the file",
        "way": "whole, by columns, by rows, or with copies of its most read rows",
        "pieces": "equal parts",
        "devices": "numbers of the devices that hold a part",
        "size_gb": "size of the table",
        "copied_gb": "what every device holds a copy of",
        "hbm_gb": "what lies in high-bandwidth memory, copies included",
        "host_gb": "what lies in host memory",
        "ssd_gb": "what lies on drives",
        "slow_reads_fraction": "share of its bytes that is read from slower tiers",
    },
    "rules": {
        "rule": "what tables are placed by, whole, the heaviest first",
        "fits": "whether they fit so",
        "step_s": "look-up and exchange on the device that takes longest",
        "over_ours_ratio": "the same over ours",
    },
}
_ACROSS: Mapping[str, Mapping[str, str]] = {
    "options": {
        "sites": "sites that take part",
        "crosses": "what the sites send each other",
        "best": "whether it is the fastest, or of least carbon, that trains as one site does",
        "fits": "whether there is a layout",
        "reason": "why there is none",
        "layout": "how the model is laid out",
        "step_s": "time of a step, with what it waits for the link",
        "rate_per_s": "tokens in a second",
        "million_kwh": "energy of a million tokens, with what buildings take",
        "million_kgco2e": "carbon of that, each site by its own grid",
        "link_s": "what a step waits for the link",
        "link_gb": "bytes that cross each link in a step",
        "of_one_site_fraction": "rate as a share of that of all nodes at one site",
    },
    "sites": {
        "grid": "grid region that the site draws from",
        "grid_kgco2e_per_kwh": "its carbon intensity",
        "pue_ratio": "power of the building over that of the nodes",
    },
}
_FUTURES: Mapping[str, Mapping[str, str]] = {
    "first_stage": {
        "decision": "order, sale, move or reservation that comes before the future is known",
        "nodes": "how many nodes",
        "pool": "nodes of one SKU at one site",
    },
    "futures": {
        "future": "name of the future",
        "probability_fraction": "its chance",
        "objective_value": "objective of the plan in it, in the unit of the objective",
        "known_value": "objective of the best plan, had it been known",
        "regret_value": "what not knowing costs in it",
        "regret_fraction": "the same as a share of the best",
        "mean_plan_value": "objective in it where the orders are those of the mean future",
        "nodes_ordered": "nodes that are ordered before it is known",
    },
    "worth": {
        "name": "knowing the future, or hedging against it",
        "value": "what that is worth in the mean, in the unit of the objective",
    },
}
# Kind of an answer, as Python and the HTTP API name it -> its tables.
ANSWERS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "job": _JOB,
    "fit": _FIT,
    "throughput": _THROUGHPUT,
    "placement": _PLACEMENT,
    "across": _ACROSS,
    "futures": _FUTURES,
}


def meaning_in(kind: str, table: str, column: str) -> str:
    """What a column of an answer of some kind means; empty where nothing is said of it."""
    return ANSWERS[kind].get(table, {}).get(column) or meaning_of(table, column)
