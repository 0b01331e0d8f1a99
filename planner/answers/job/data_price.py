"""What the data of a job costs: tokens or samples that are bought for its training and fine-tuning."""

from __future__ import annotations

from planner.answers.job.setting import Setting
from planner.inputs.exchange import rate_key
from planner.inputs.job.schema_work import Work
from planner.physics.equations.money import bought_data_usd
from planner.trace.currency import Stated
from planner.trace.quantities import Fact, Traced, chosen, derive, exchanged, total

BUYING = ("training", "fine_tuning")


def data_usd(setting: Setting) -> Traced | None:
    """Money for the data of all phases that state its price; None where none does."""
    stated = {phase: getattr(setting.job, phase) for phase in BUYING}
    parts = {
        phase: _of_phase(setting, phase, work)
        for phase, work in stated.items()
        if work is not None and work.data_usd_per_million is not None
    }
    return total("data_usd", parts, "of the phases that buy data") if parts else None


def _of_phase(setting: Setting, phase: str, work: Work) -> Traced:
    key = "tokens" if work.samples is None else "samples"

    def share(name: str, value: float | None, otherwise: str) -> Traced:
        if value is None:
            return chosen(name, 1.0, otherwise, unit="1")
        return setting.yours(f"{phase}.{name}", value, "1")

    return derive(
        bought_data_usd,
        million_usd=_price(setting, f"{phase}.data_price", work.data_usd_per_million or 0.0),
        amount=setting.yours(f"{phase}.{key}", getattr(work, key), "1"),
        bought_fraction=share("bought", work.bought_fraction, "all of it is bought"),
        passes=share("passes", work.passes, "each is seen once"),
        reduction_ratio=chosen("reduction_ratio", 1.0, "no technique"),
    )


def _price(setting: Setting, path: str, value: float) -> Traced:
    """The price of a million, in USD; what is written in another currency at the rate of the catalogue."""
    if not isinstance(value, Stated):
        return setting.yours(path, value, "USD")
    amount = Fact(
        value.amount,
        value.code,
        key=f"job.{path}",
        source=setting.source,
        locator=path,
        kind="yours",
        stated=f"{value.amount:g} {value.code}",
    )
    return exchanged(amount, setting.fact(rate_key(value.code)), "USD")
