"""What a line of a ledger is: its phase, its scope and its category."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, get_args

from carbon.signals import Accounting

Phase = Literal[
    "data",
    "experimentation",
    "training",
    "fine-tuning",
    "inference",
    "ingestion",
    "storage",
    "network",
    "building",
    "end of life",
    "fleet",  # nodes, whatever they do
]
Scope = Literal[1, 2, 3]

PHASES: tuple[Phase, ...] = get_args(Phase)
ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)


class Category(IntEnum):
    """The fifteen categories of scope 3.

    Source: GHG Protocol, "Corporate Value Chain (Scope 3) Standard", 2011, table 5.3.
    """

    PURCHASED_GOODS_AND_SERVICES = 1
    CAPITAL_GOODS = 2
    FUEL_AND_ENERGY = 3
    UPSTREAM_TRANSPORT = 4
    WASTE = 5
    BUSINESS_TRAVEL = 6
    COMMUTING = 7
    UPSTREAM_LEASED_ASSETS = 8
    DOWNSTREAM_TRANSPORT = 9
    PROCESSING_OF_SOLD_PRODUCTS = 10
    USE_OF_SOLD_PRODUCTS = 11
    END_OF_LIFE_OF_SOLD_PRODUCTS = 12
    DOWNSTREAM_LEASED_ASSETS = 13
    FRANCHISES = 14
    INVESTMENTS = 15
