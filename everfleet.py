"""Plans AI fleets so that they finish their work, on time, at the least carbon and money.

>>> import everfleet as ef
>>> fleet = ef.plan("one-training-job", baselines=False)
>>> fleet.totals["cost"]["unit"]
'USD'

Each function asks what the command of its name asks and gives an `Answer`: `docs/python.md` has all of them.
"""

from planner.notebook import *  # noqa: F403  # the room lists its names once, for both doors
from planner.notebook import __all__ as __all__
