"""Low-rank adapters next to frozen weights (LoRA)."""

import numpy as np

from planner.performance._checks import require_positive
from planner.performance.columns import Column


def adapter_parameters(
    *, rank: Column, hidden: Column, heads: Column, kv_heads: Column, head_dim: Column | None = None
) -> Column:
    """Trainable weights of one layer with adapters on all four attention projections.

    A = r (h + a d) * 2 + r (h + kv d) * 2 = r (4 h + 2 d (a + kv)),  d = h/a where no head size is given

    Queries and output map h to a d and back, keys and values h to kv d; each adapter is a map to r values
    and one back, r (in + out). Projections that are fused into one matrix share the first map and hold fewer.

    Source: Hu et al., "LoRA", arXiv 2106.09685, section 4.
    """
    require_positive(rank=rank, hidden=hidden, heads=heads, kv_heads=kv_heads)
    wide = hidden / heads if head_dim is None else head_dim
    require_positive(head_dim=wide)
    return rank * (4.0 * hidden + 2.0 * wide * (heads + kv_heads))


def training_flops_ratio(*, adapter_parameters: Column) -> Column:
    """Multiplications with one base weight in forward and backward over those in forward alone.

    3 where it is trained (forward, gradient of the input, gradient of the weight), 2 next to adapters

    Source: Hu et al., arXiv 2106.09685; counting.
    """
    result: Column = np.where(np.asarray(adapter_parameters) > 0, 2.0, 3.0)
    return result


def overhead_ratio(*, adapter_parameters: Column, fused_ratio: Column) -> Column:
    """Share of element-wise work and host time that is left next to adapters where software fuses operations.

    r where adapters are trained, else 1

    The output of an adapter is then added within the matrix product, values are narrowed to 8 bits where they
    are normalised, and one graph of the whole iteration spares the host.

    Source: NVIDIA NeMo 25.09, nemo/collections/llm/peft/lora.py, `TEFusedLoRALinear`; configurations of
    MLPerf Training v5.1.
    """
    result: Column = np.where(np.asarray(adapter_parameters) > 0, fused_ratio, 1.0)
    return result
