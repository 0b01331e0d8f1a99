"""Work for the executors of sweeps, by name: a worker that is handed it imports no test."""

from __future__ import annotations

import os
from pathlib import Path

from planner.trace.errors import InputError


def square(number: int) -> int:
    if number == 3:
        raise InputError("three is refused")
    return number * number


def square_or_die_once(task: tuple[int, str]) -> int:
    """The worker that squares 2 for the first time dies of it."""
    number, folder = task
    if number == 2:
        try:
            (Path(folder) / "died").mkdir()
        except FileExistsError:
            return square(number)
        os._exit(9)
    return square(number)


def square_or_die(number: int) -> int:
    if number == 2:
        os._exit(9)
    return square(number)


def unwell(number: int) -> int:
    return 1 // (number - 1)
