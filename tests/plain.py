"""Shipped families without their rents, moves and contracts: what a test changes alone decides."""

from __future__ import annotations

from pathlib import Path

from planner.inputs.loading import data_folder


def plain(name: str) -> Path:
    """The plain form of a family; the shipped file where that one is plain itself."""
    own = Path(__file__).resolve().parent / "scenarios" / f"{name}.toml"
    return own if own.exists() else data_folder() / "scenarios" / f"{name}.toml"
