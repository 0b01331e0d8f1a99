"""Adapters of queues, redundancy and traffic."""

from __future__ import annotations

from planner.inputs.loading import load_catalogue
from planner.performance.queueing import (
    erlang_c_fraction,
    mmc_wait_h,
    servers_needed,
    servers_wait_h,
)
from planner.validation.aliases import aliases, catalogue_name
from planner.validation.forms import Book, NotUnderstood
from reliability.spares import installed_for_availability

QUEUES, TRAFFIC = "queues", "traffic"

BOOK = Book(
    {
        "ca2": ("arrival_scv_ratio", 1.0),
        "cs2": ("service_scv_ratio", 1.0),
        "utilisation": ("utilisation_fraction", 1.0),
        "availability": ("availability_fraction", 1.0),
        "target": ("target_fraction", 1.0),
    }
)


@BOOK.takes("erlang_c", unit="1", subject=QUEUES)
def erlang_c(*, servers: float, offered_load: float) -> float:
    """Chance of having to wait."""
    return float(erlang_c_fraction(servers=servers, offered_load=offered_load))


@BOOK.takes("mmc_wq", unit="1", subject=QUEUES)
def mmc_wait(*, servers: float, arrival: float, service_rate: float) -> float:
    """Mean wait in the row's unit of time."""
    return float(
        mmc_wait_h(servers=servers, offered_load=arrival / service_rate, service_h=1.0 / service_rate)
    )


@BOOK.takes("ggc_wq", unit="1", subject=QUEUES)
def ggc_wait(
    *, servers: float, utilisation_fraction: float, arrival_scv_ratio: float, service_scv_ratio: float
) -> float:
    """Mean wait over service time."""
    return float(
        servers_wait_h(
            servers=servers,
            offered_load=servers * utilisation_fraction,
            service_h=1.0,
            arrival_scv_ratio=arrival_scv_ratio,
            service_scv_ratio=service_scv_ratio,
        )
    )


@BOOK.takes("erlang_c_staffing", unit="1", subject=QUEUES, labels=("shrinkage",))
def staffing(
    *, transactions_per_30min: float, aht_min: float, asa_s: float, service_level: float, max_occupancy: float
) -> float:
    """Servers, before shrinkage, that answer a share of calls in time."""
    return float(
        servers_needed(
            offered_load=transactions_per_30min * aht_min / 30.0,
            service_h=aht_min / 60.0,
            wait_target_h=asa_s / 3600.0,
            met_fraction=service_level,
            occupancy_fraction=max_occupancy,
        )
    )


@BOOK.takes("n_plus_k", unit="1", subject=QUEUES)
def n_plus_k(*, needed: float, availability_fraction: float, target_fraction: float) -> float:
    """Spare replicas."""
    installed = installed_for_availability(
        needed=needed, availability_fraction=availability_fraction, target_fraction=target_fraction
    )
    return float(installed) - needed


@BOOK.takes("trace_stat", unit="1", subject=TRAFFIC)
def trace_stat(*, trace: str, stat: str) -> dict[str, float]:
    """A statistic of a shipped trace."""
    words = aliases("traffic_statistic")
    if stat not in words:
        raise NotUnderstood(f"no statistic '{stat}'; known: {', '.join(words)}")
    fact = load_catalogue().fact(f"traffic.{catalogue_name('traffic', trace)}.{words[stat]}")
    return {fact.unit: fact.value}
