"""Memory of tables, dense layers and samples, and the accelerators that tables need."""

from planner.performance._checks import require_not_negative, require_positive
from planner.performance.columns import Column
from planner.performance.rounding import rounded_up


def recommendation_memory_gb(
    *,
    embedding_rows: Column,
    embedding_dim: Column,
    table_bytes: Column,
    row_state_bytes: Column,
    dense_parameters: Column,
    dense_state_bytes: Column,
    samples: Column,
    sample_values: Column,
    value_bytes: Column,
    accelerators: Column,
) -> Column:
    """Memory of one accelerator: its part of the tables, all dense layers, activations of its samples.

    m = R (D B + s) / n + N_dense s_dense + b V B

    Tables can be cut anywhere, so the parts are even. `row_state_bytes` is the optimizer's state of a
    row (4 with one number a row, 0 in inference); V holds every kept value of a sample.

    Source: Naumov et al., arXiv 1906.00091; Mudigere et al., arXiv 2104.05158.
    """
    require_positive(accelerators=accelerators, embedding_dim=embedding_dim, table_bytes=table_bytes)
    require_not_negative(
        embedding_rows=embedding_rows,
        row_state_bytes=row_state_bytes,
        dense_parameters=dense_parameters,
        dense_state_bytes=dense_state_bytes,
        samples=samples,
        sample_values=sample_values,
        value_bytes=value_bytes,
    )
    tables = embedding_rows * (embedding_dim * table_bytes + row_state_bytes) / accelerators
    return (tables + dense_parameters * dense_state_bytes + samples * sample_values * value_bytes) / 1e9


def table_devices(*, embedding_parameters: Column, table_bytes: Column, memory_gb: Column) -> Column:
    """Fewest accelerators whose memory holds the tables, by capacity alone.

    n = ceil(N B / m)

    Source: definition; tables that may not be cut need more.
    """
    require_positive(embedding_parameters=embedding_parameters, table_bytes=table_bytes, memory_gb=memory_gb)
    return rounded_up(embedding_parameters * table_bytes / (memory_gb * 1e9))
