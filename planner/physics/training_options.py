"""Which ways to train exist at all: job x pool x nodes x layout x power cap; why others do not.

Enumeration only; what a candidate takes, costs and emits is worked out in `planner.physics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Problem, ScenarioError, Service, TrainingJob
from planner.performance.experts import attention_parameters, latent_attention_parameters
from planner.performance.hardware import precision_peak_tflop_per_s
from planner.performance.layouts import Layout, NoLayout, best_layout
from planner.trace.quantities import Fact, Traced, chosen, derive

Indices = NDArray[np.intp]

SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn", "gated")
LAYOUT = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding", "ep")
# A leaf's parameter -> the fitted constant of the modern training stack.
TRAINING_CONSTANTS = {
    "stack_factor": "stack_factor",
    "hidden_half_width": "hidden_half_width",
    "tokens_half": "tokens_half",
    "elementwise_bytes_per_value": "elementwise_bytes_per_value",
    "attention_efficiency_fraction": "attention_efficiency",
    "memory_efficiency_fraction": "memory_efficiency",
    "link_efficiency_fraction": "link_efficiency",
    "network_efficiency_fraction": "network_efficiency",
    "collective_latency_s": "collective_latency",
    "tensor_exposed_fraction": "tensor_exposed_modern",
    "fsdp_latency_s": "fsdp_latency",
    "fsdp_exposed_fraction": "fsdp_exposed",
    "pipeline_exposed_fraction": "pipeline_exposed_modern",
    "data_parallel_hidden_fraction": "data_parallel_hidden",
    "fixed_s": "fixed_time",
    "scale_drag_ratio": "scale_drag",
}
ACCELERATOR_FACTS = {
    "attention_tflop_per_s": "bf16_peak",
    "memory_gb_per_s": "memory_bandwidth",
    "link_gb_per_s": "link_bandwidth",
    "network_gb_per_s": "network_bandwidth",
    "link_domain": "link_domain",
    "matrix_efficiency_fraction": "matrix_efficiency",
}
UNCAPPED = 1.0  # accelerators may draw their rated power
WHOLE = (*SHAPE, "vocabulary", "link_domain", "sequence_parallel", "fused_attention")
EXPERTS = ("experts", "experts_per_token", "shared_experts")
# What is known of a mixture of experts next to its step: the rate of all steps, the weights of a token.
BESIDE_STEP = ("calibration_factor", "active_parameters")
PRECISIONS = ("bf16", "fp16", "fp8")


@dataclass(frozen=True, slots=True)
class Workload:
    """What is trained, as far as a layout depends on it."""

    model: str
    precision: str
    sequence_tokens: int
    batch_sequences: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A configuration that cannot be, and why."""

    what: str
    sku: str
    reason: str


@dataclass(frozen=True)
class TrainingCandidates:
    """Columns over job x pool x nodes x power cap, each with its fastest layout that fits in memory."""

    job: Indices
    pool: Indices
    nodes: Indices
    layout: Mapping[str, NDArray[np.float64]]
    power_cap_fraction: NDArray[np.float64]

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.job)

    def some(self, rows: NDArray[Any]) -> TrainingCandidates:
        """Some of them, in this order."""
        layout = {name: column[rows] for name, column in self.layout.items()}
        cap = self.power_cap_fraction[rows]
        return TrainingCandidates(self.job[rows], self.pool[rows], self.nodes[rows], layout, cap)


def training_candidates(inputs: Inputs) -> tuple[TrainingCandidates, list[Dropped]]:
    """Every job on every pool it may use, at every size that the scenario names."""
    found: list[tuple[int, int, int, Layout, float]] = []
    dropped: list[Dropped] = []
    known: dict[tuple[int, int, int], Layout | str] = {}
    for j, job in enumerate(inputs.scenario.training):
        for p, (k, s) in enumerate(inputs.pools):
            if not allowed(inputs, job, k, s):
                continue
            for nodes in job.nodes:
                if (j, k, nodes) not in known:
                    known[j, k, nodes] = _layout(inputs, job_workload(job), k, nodes)
                    if isinstance(known[j, k, nodes], str):
                        name = f"{job.name} on {nodes} nodes"
                        dropped.append(Dropped(name, inputs.skus[k].name, str(known[j, k, nodes])))
                layout = known[j, k, nodes]
                if isinstance(layout, Layout):
                    found += [(j, p, nodes, layout, cap) for cap in power_caps(inputs, job, k)]
    columns = {name: np.array([float(getattr(row[3], name)) for row in found]) for name in LAYOUT}
    job_, pool, nodes_ = (np.array([row[i] for row in found], dtype=np.intp) for i in range(3))
    caps = np.array([row[4] for row in found], dtype=float)
    return TrainingCandidates(job_, pool, nodes_, columns, caps), dropped


def pool_layouts(inputs: Inputs, pool: Pool) -> dict[int, Layout | str]:
    """Layout of one node for an experimentation pool's model, by SKU; the reference is always among them.

    What does not fit is shown by the whole node: a pool's runs have no second one to shard over.
    """
    names = [sku.name for sku in inputs.skus]
    work = pool_workload(inputs, pool)
    wanted = [k for k, name in enumerate(names) if not pool.skus or name in (*pool.skus, pool.reference)]
    return {k: _on_one_node(inputs, work, k) for k in wanted}


def check_pools(inputs: Inputs) -> None:
    """A pool's need is stated in hours of its reference node, which has to hold the model of the pool.

    Raises:
        ScenarioError: naming each pool whose reference does not.
    """
    scenario = inputs.scenario
    problems = []
    for pool in scenario.pools:
        work = pool_workload(inputs, pool)
        found = _on_one_node(inputs, work, [sku.name for sku in inputs.skus].index(pool.reference))
        if isinstance(found, str):
            said = ", ".join(_skus_that_hold(inputs, pool)) or "no SKU of the catalogue"
            problems.append(
                Problem(
                    f"pools.{pool.name}.reference",
                    f"'{pool.reference}' cannot train {pool.model}: {found}. It would fit on {said}",
                )
            )
    if problems:
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", problems)


def _skus_that_hold(inputs: Inputs, pool: Pool) -> list[str]:
    """SKUs of the catalogue of which one node trains the pool's model."""
    held = []
    for name in inputs.catalogue.skus:
        other = pool.model_copy(update={"reference": name})
        alone = Inputs(inputs.scenario.model_copy(update={"pools": (other,)}), inputs.catalogue)
        place = [sku.name for sku in alone.skus].index(name)
        if isinstance(_on_one_node(alone, pool_workload(alone, other), place), Layout):
            held.append(name)
    return held


def _on_one_node(inputs: Inputs, work: Workload, sku: int) -> Layout | str:
    found = _searched(inputs, work, sku, 1)
    if not isinstance(found, NoLayout):
        return found
    if not np.isfinite(found.smallest_memory_gb):
        return found.reason
    gpus = int(inputs.server("accelerators")[sku].value)
    usable = inputs.fact("performance.training.usable_memory").value
    held = gpus * inputs.accelerator("memory")[sku].value
    return (
        f"on one node it needs {gpus * found.smallest_memory_gb:,.0f} GB, and {inputs.skus[sku].name} holds "
        f"{held:,.0f} GB, of which {usable * held:,.0f} GB are usable; runs of a pool stay on one node"
    )


def training_arguments(
    inputs: Inputs, model: str, sku: int, precision: str, *, mixed: bool = False
) -> dict[str, Traced]:
    """Everything that `training_step_s` wants and that does not depend on the layout.

    For a mixture of experts also `BESIDE_STEP`; where it is `mixed` with one in a column, for any model.
    """
    accelerator = inputs.skus[sku].accelerator
    facts: dict[str, Traced] = {name: inputs.fact(f"model.{model}.{name}") for name in SHAPE}
    facts["vocabulary"] = inputs.fact(f"model.{model}.vocab")
    facts["head_dim"] = inputs.fact(f"model.{model}.head_dim")  # not always width over heads
    facts["matrix_tflop_per_s"] = peak(inputs, accelerator, precision)
    for parameter, name in ACCELERATOR_FACTS.items():
        facts[parameter] = inputs.fact(f"accelerator.{accelerator}.{name}")
    for parameter, name in TRAINING_CONSTANTS.items():
        facts[parameter] = inputs.fact(f"performance.training.{name}")
    if precision == "fp8":
        facts["precision_factor"] = inputs.fact("performance.training.fp8_factor")
    else:
        facts["precision_factor"] = chosen(
            "precision_factor", 1.0, f"{precision} is the precision of the peak"
        )
    facts["sequence_parallel"] = chosen("sequence_parallel", 1, "usual wherever tensors are split")
    facts["fused_attention"] = chosen("fused_attention", 1, "usual since 2023")
    if mixed or is_mixture(inputs, model):
        facts.update(_expert_arguments(inputs, model, facts))
    return facts


def is_mixture(inputs: Inputs, model: str) -> bool:
    """Whether a model has experts, of which a token passes a few."""
    key = f"model.{model}.experts"
    if key in inputs.scenario.facts:
        return bool(inputs.fact(key).value > 0)
    return inputs.catalogue.has(key) and bool(inputs.catalogue.fact(key).value > 0)


def latent_score_dim(*, head_dim: float, rotary_dim: float, value_dim: float) -> float:
    """Width of a head that costs the same scores and sums as one of latent attention.

    d = (d_head + d_R + d_v) / 2

    Queries meet keys of width d_head + d_R and sum values of width d_v; plainly both are of one width.

    Source: DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434, section 2.1.
    """
    return (head_dim + rotary_dim + value_dim) / 2.0


def peak(inputs: Inputs, accelerator: str, precision: str) -> Fact:
    """Dense matrix rate at a precision.

    Raises:
        UnknownFact: the accelerator has no such matrix rate.
    """
    return inputs.fact(f"accelerator.{accelerator}.{precision}_peak")


def job_workload(job: TrainingJob) -> Workload:
    """What a training job trains; its batch in whole sequences."""
    sequences = max(1, round(job.batch_tokens / job.sequence_tokens))
    return Workload(job.model, job.precision, job.sequence_tokens, sequences)


def pool_workload(inputs: Inputs, pool: Pool) -> Workload:
    """A fine-tuning run on one node that stands for a pool's work."""
    sequence, batch = (
        int(inputs.fact(f"pool.{name}").value) for name in ("sequence_tokens", "batch_sequences")
    )
    return Workload(pool.model, "bf16", sequence, batch)


def weight_bytes(precision: str) -> float:
    """Bytes of one weight, or of one cached value: by definition of the format."""
    return 1.0 if precision == "fp8" else 2.0


def allowed(inputs: Inputs, wish: Any, sku: int, site: int) -> bool:
    """Whether a job, service or pool of work may use a SKU at a site."""
    return (not wish.skus or inputs.skus[sku].name in wish.skus) and (
        not wish.sites or inputs.sites[site].name in wish.sites
    )


def _expert_arguments(inputs: Inputs, model: str, shape: dict[str, Traced]) -> dict[str, Traced]:
    """What a mixture of experts adds to the arguments; a dense model is one with no experts."""
    name, mixture = f"model.{model}", is_mixture(inputs, model)
    facts: dict[str, Traced] = {
        part: inputs.fact(f"{name}.{part}")
        if mixture and inputs.catalogue.has(f"{name}.{part}")
        else chosen(part, 0.0, f"{model} has none")
        for part in EXPERTS
    }
    attention = {part: shape[part] for part in ("hidden", "heads")}
    if mixture and inputs.catalogue.has(f"{name}.latent_rank"):
        widths = {part: inputs.fact(f"{name}.{part}") for part in ("head_dim", "rotary_dim", "value_dim")}
        ranks = {part: inputs.fact(f"{name}.{part}") for part in ("query_rank", "latent_rank")}
        facts["head_dim"] = derive(latent_score_dim, **widths)
        facts["mixer_parameters"] = derive(latent_attention_parameters, **attention, **ranks, **widths)
    else:
        heads = {part: shape[part] for part in ("kv_heads", "head_dim")}
        facts["mixer_parameters"] = derive(attention_parameters, **attention, **heads)
    facts["load_imbalance_factor"] = inputs.fact("performance.training.load_imbalance")
    facts["expert_exposed_fraction"] = inputs.fact("performance.training.expert_exposed")
    facts["expert_network_efficiency_fraction"] = inputs.fact(
        "performance.training.expert_network_efficiency"
    )
    limited = mixture and inputs.catalogue.has(f"{name}.nodes_per_token")
    facts["most_domains_per_token"] = (
        inputs.fact(f"{name}.nodes_per_token")
        if limited
        else chosen("most_domains_per_token", max(1.0, float(facts["experts"].value)), "no limit is known")
    )
    facts["calibration_factor"] = (
        inputs.fact("performance.training.expert_calibration_factor")
        if mixture
        else chosen("calibration_factor", 1.0, f"{model} is dense")
    )
    facts["active_parameters"] = inputs.fact(f"{name}.{'active_parameters' if mixture else 'parameters'}")
    return facts


def _layout(inputs: Inputs, work: Workload, sku: int, nodes: int) -> Layout | str:
    found = _searched(inputs, work, sku, nodes)
    return found.reason if isinstance(found, NoLayout) else found


def _searched(inputs: Inputs, work: Workload, sku: int, nodes: int) -> Layout | NoLayout | str:
    accelerator = inputs.skus[sku].accelerator
    if reason := without_precision(inputs, accelerator, work.precision):
        return reason
    arguments = {
        name: node.value
        for name, node in training_arguments(inputs, work.model, sku, work.precision).items()
        if name not in BESIDE_STEP
    }
    whole = {name: int(arguments.pop(name)) for name in (*WHOLE, *EXPERTS) if name in arguments}
    return best_layout(
        gpus=nodes * int(inputs.server("accelerators")[sku].value),
        global_batch=work.batch_sequences,
        sequence_tokens=work.sequence_tokens,
        memory_gb=inputs.accelerator("memory")[sku].value,
        usable_fraction=inputs.fact("performance.training.usable_memory").value,
        **whole,  # the shapes are whole numbers, the rest floats
        **arguments,
    )


def power_caps(inputs: Inputs, wish: TrainingJob | Service, sku: int) -> tuple[float, ...]:
    """The caps of a job or service that leave an accelerator more than it draws when idle."""
    tdp, idle = inputs.accelerator("tdp")[sku].value, inputs.accelerator("idle_power")[sku].value
    return tuple(cap for cap in wish.power_caps_fraction or (UNCAPPED,) if cap * tdp > idle)


def without_precision(inputs: Inputs, accelerator: str, precision: str) -> str:
    """Why an accelerator cannot compute at a precision; empty where it can."""
    keys = {name: f"accelerator.{accelerator}.{name}_peak" for name in PRECISIONS}
    peaks = {
        name: inputs.catalogue.fact(key).value for name, key in keys.items() if inputs.catalogue.has(key)
    }
    try:
        precision_peak_tflop_per_s(peaks_tflop_per_s=peaks, precision=precision)
    except ValueError as error:
        return f"{accelerator}: {error}"
    return ""
