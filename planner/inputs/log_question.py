"""What is asked of a failure or job log, stated once: `everfleet fit`, `everfleet backtest`, `ef.fit`."""

from __future__ import annotations

from dataclasses import dataclass

from planner.inputs.question_fields import fields_of, out_of_range, question_field
from planner.trace.errors import InputError

FIT = "fit"  # what `backtest` does not ask


@dataclass(frozen=True)
class FitQuestion:
    """Options of a fit; what is None comes from the catalogue and is named in the answer."""

    name: str = question_field("name of the fleet; default: that of the file", "", kinds=(FIT,))
    accelerators_per_node: int | None = question_field(
        "accelerators of a node",
        reads="count",
        value="N",
        kinds=(FIT,),
        usual=8,
        least=1,
        most=1024,
        label="Accelerators per node",
    )
    interval_fraction: float = question_field(
        "what intervals are to hold", 0.90, reads="share", option="--interval", value="FRACTION"
    )
    spare_confidence_fraction: float = question_field(
        "share of time that spares suffice",
        0.99,
        reads="share",
        option="--confidence",
        value="FRACTION",
    )
    period_d: float = question_field(
        "length of the periods compared", 91.0, reads="number", option="--period-days", value="D"
    )
    review_d: float = question_field(
        "days until the spares are sized again", 7.0, reads="number", option="--review-days", value="D"
    )
    covariates: tuple[str, ...] | None = question_field(
        "for hazard ratios; default: all with few levels", reads="names", value="NAME,...", kinds=(FIT,)
    )
    cross_check: bool = question_field(
        "lifetimes and ratios by lifelines too; takes seconds", False, reads="flag", kinds=(FIT,)
    )
    with_planned: bool = question_field("count planned stops as failures", False, reads="flag")
    prior: str = question_field(
        "published fleet to start from, or none; 'prior': all of them", "prior", value="NAME", kinds=(FIT,)
    )
    write_min: float | None = question_field(
        "blocking checkpoint write, for ETTR by size", reads="number", value="MIN", kinds=(FIT,)
    )
    restart_min: float | None = question_field(
        "restart after a failure, for ETTR by size", reads="number", value="MIN", kinds=(FIT,)
    )

    def __post_init__(self) -> None:
        said = {name: getattr(self, name) for name in fields_of(FitQuestion)}
        wrong = [f"{option}: {text}" for option, text in out_of_range(FitQuestion, said)]
        if wrong:
            raise InputError("\n".join(wrong))


OF_A_FIT = tuple(name for name, one in fields_of(FitQuestion).items() if FIT in one.kinds)
OF_EVERY_LOG = tuple(name for name in fields_of(FitQuestion) if name not in OF_A_FIT)
