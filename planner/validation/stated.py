"""What rows state together: the shape of a model, how it is laid out, shares that a peer assumes.

A row names the fields; a form takes them as one argument.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from planner.performance.bundles import Split, named
from planner.performance.experts import layer_weights
from planner.validation.forms import NotUnderstood

RECOMPUTE = {"none": 0, "selective": 1, "full": 2}
SHARDING = {
    **{"none": 0, "ddp": 0},
    **{"none_or_optimizer": 1, "optimizer": 1, "zero1": 1},
    "zero2": 2,
    **{"zero3": 3, "fsdp": 3, "fsdp2": 3},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedShape:
    """A dense model as published tables describe it, but for its vocabulary."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    gated: bool

    def with_vocabulary(self, vocabulary: int) -> dict[str, int]:
        """The arguments of a step that it sets."""
        return {name: int(value) for name, value in named(self).items()} | {"vocabulary": vocabulary}


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseModel:
    """A dense model with its tables; heads have a width of their own where it is stated."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int
    gated: bool = False
    vocabulary: int
    tied: bool = False

    @property
    def parameters_of_a_layer(self) -> float:
        """Weights of attention and feed-forward of one layer."""
        one = layer_weights(
            hidden=self.hidden,
            heads=self.heads,
            kv_heads=self.kv_heads or self.heads,
            ffn=self.ffn,
            gated=int(self.gated),
            head_dim=self.head_dim,
        )
        return float(one.common_parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLayout:
    """How a run was laid out, in the words of published tables."""

    tp: int
    pp: int
    interleave: int = 1
    cp: int = 1
    micro_batch: int
    dp_sharding: str

    def require_known(self, recompute: str | None) -> None:
        """Raise NotUnderstood at a word that nobody knows."""
        if self.dp_sharding.casefold() not in SHARDING or (
            recompute is not None and recompute not in RECOMPUTE
        ):
            raise NotUnderstood(f"unknown layout words '{self.dp_sharding}', '{recompute}'")

    def split(self, ep: int = 1) -> Split:
        """What has to divide model and batch."""
        sizes = {f.name: getattr(self, f.name) for f in fields(Split) if f.name != "ep"}
        return Split(**sizes, ep=ep)

    def arguments(self, sharding: int) -> dict[str, Any]:
        """The arguments of a step that it sets, at a ZeRO stage."""
        sizes = named(self)
        del sizes["dp_sharding"]
        return sizes | {"sharding": sharding}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A measured size."""

    anchor_accelerators: int
    anchor_global_batch: int
    anchor_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerShares:
    """Shares of compute and of links that MAD-Max takes as used."""

    flops_util: float
    nvlink_util: float
    roce_util: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What something took before; at most one is stated."""

    baseline_gpu_h: float | None = None
    baseline_d: float | None = None
    baseline_s: float | None = None
    baseline_kwh: float | None = None
    baseline_gb: float | None = None
    baseline_tokens: float | None = None
    baseline_samples: float | None = None
    baseline_nodes: float | None = None
    baseline_replicas: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRepairs:
    """A repair shop: by a program first, by hand where that fails."""

    automatic_h: float
    manual_h: float
    manual_fraction: float
    automatic_fails_fraction: float
    manual_fails_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedStops:
    """Hours of a stop: to recover, to choose other nodes, to send a job of less urgency away."""

    recovery_h: float
    selection_h: float
    preempt_h: float
