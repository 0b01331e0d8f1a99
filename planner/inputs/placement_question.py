"""What is asked of embedding tables on devices, stated once: `everfleet place` and `ef.place`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from planner.inputs.question_fields import question_field

TIME, NODES = "time", "nodes"
HBM, HOST, SSD = "hbm", "host", "ssd"
TIERS = (HBM, HOST, SSD)
WHOLE, COLUMNS, ROWS, COPIES = "whole", "columns", "rows", "copies"
WAYS = (WHOLE, COLUMNS, ROWS, COPIES)
SIZES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class PlacementQuestion:
    """Tables of one model, the nodes that may hold them, and what is to be least."""

    model: str = question_field("set of tables, where the file has several", "", label="Set of tables")
    reuse: Path | None = question_field(  # noqa: RUF009  # makes a field, as `field` does
        "CSV of how often rows are read; without it each row is read alike", reads="path", value="FILE"
    )
    dataset: str = question_field("histogram, where that file has several", "")
    sku: str = question_field("kind of node", "h100-8", label="Kind of node")
    nodes: tuple[int, ...] = question_field(
        "sizes to look at; 1..4", (), reads="counts", value="N..M", label="Nodes"
    )
    batch: int = question_field(
        "samples of a step, over all devices", 65_536, reads="count", label="Samples of a step"
    )
    train: bool = question_field(
        "rows are updated and gradients sent back", False, reads="flag", label="Train"
    )
    tiers: tuple[str, ...] = question_field(
        "memories that may hold tables; hbm,host,ssd", (), reads="names", value="TIER,...", label="Memories"
    )
    ways: tuple[str, ...] = question_field(
        "how a table may be laid out: whole, columns, rows, and copies of its most read rows everywhere; all",
        (),
        reads="names",
        value="WAY,...",
        label="Ways",
    )
    aim: str = question_field("time: least time of a step; nodes: fewest nodes", TIME)
    within_s: float | None = question_field(
        "longest that look-up and exchange may take: '2 ms'", reads="time", option="--within", value="TIME"
    )
    time_limit_s: float = question_field(
        "of the search, for each size",
        5.0,
        reads="time",
        option="--time-limit",
        value="TIME",
    )

    @property
    def in_full(self) -> PlacementQuestion:
        """The same, with what is looked at where nothing is said."""
        return replace(self, nodes=self.nodes or SIZES, tiers=self.tiers or TIERS, ways=self.ways or WAYS)
