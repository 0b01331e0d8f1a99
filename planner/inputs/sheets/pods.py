"""Pods of Kubernetes as work: accelerators that jobs hold at a moment, by namespace.

A list says what ran when it was made. Pods of services are left out: how many answer requests is for the plan
to say, from the requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

PRODUCT = "nvidia.com/gpu.product"
# What keeps its pods up for as long as somebody may ask them.
SERVING = (
    *("ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "LeaderWorkerSet", "InferenceService"),
    *("RayService", "PodClique", "PodCliqueSet", "DynamoComponentDeployment"),
)
_RESOURCE = re.compile(r"/(gpu|tpu|gaudi)$")
MOST = 100_000  # accelerators of one container

Row = dict[str, str]


def is_pods(held: Mapping[str, Any]) -> bool:
    """Whether a list is one of pods."""
    items = held.get("items")
    if not isinstance(items, list) or not items:
        return False
    kinds = {str(one.get("kind")) if isinstance(one, Mapping) else "" for one in items}
    return held.get("kind") == "PodList" or kinds == {"Pod"}


def pod_rows(items: list[Any]) -> tuple[list[Row], tuple[str, ...]]:
    """Rows of pools, one for each namespace and kind of accelerator, and what was left out."""
    held: Counter[tuple[str, str]] = Counter()
    serving = others = 0
    for pod in items:
        spec, meta = _table(pod, "spec"), _table(pod, "metadata")
        count = sum(_accelerators(box) for box in _list(spec, "containers"))
        if not count or _table(pod, "status").get("phase") != "Running":
            others += 1
        elif any(owner.get("kind") in SERVING for owner in _list(meta, "ownerReferences")):
            serving += count
        else:
            product = _table(spec, "nodeSelector").get(PRODUCT, "")
            held[str(meta.get("namespace", "default")), str(product)] += count
    rows = []
    for (name, product), count in sorted(held.items()):
        several = sum(one == name for one, _ in held) > 1
        row = {"name": f"{name} {product}".strip() if several else name, "accelerators": str(count)}
        rows.append(row | ({"reference": product} if product else {}))
    left_out = [f"{serving} accelerators of services: state their requests"] if serving else []
    left_out += [f"{others} pods without accelerators, or that do not run"] if others else []
    return rows, tuple(left_out)


def _accelerators(box: Mapping[str, Any]) -> int:
    """Those that a container holds: its limits, which Kubernetes keeps equal to what is requested."""
    limits = _table(_table(box, "resources"), "limits")
    found = [str(value) for key, value in limits.items() if _RESOURCE.search(str(key))]
    return sum(
        int(one) for one in found if one.isdecimal() and one.isascii() and len(one) < 7 and int(one) <= MOST
    )


def _table(found: Any, name: str) -> Mapping[str, Any]:
    held = found.get(name) if isinstance(found, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def _list(found: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    held = found.get(name)
    yield from (one for one in held if isinstance(one, Mapping)) if isinstance(held, list) else ()
