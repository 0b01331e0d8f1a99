"""What a step of a serving engine takes: matrices, attention, exchanges and host, at measured rates.

One step gives every request that writes one token and, spread over the steps, reads the prompts of the
requests that joined. Kernels and links are facts of an accelerator, measured by themselves; an engine adds
what it spends around them. So a new accelerator or engine is a set of facts, and no term can beat the
hardware.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner.performance._checks import (
    require_not_negative,
    require_open_share,
    require_positive,
    require_share,
)
from planner.performance.bundles import Bundle, Entry
from planner.performance.columns import Column

MATRICES = 4.0  # of a layer: queries to values, output of attention, up, down; experts hold the last two
NORM = 4.0  # of the roofline's corner: measured matrices between 16 and 16,384 rows lie within a few percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """A served model: its weights by where they lie, and what attention and its cache take.

    `embedding_parameters` are the table of the input (none where it is the head's), which is looked up and
    not multiplied; `head_parameters` give the next token, in 16 bits. A dense model has no
    `routed_parameters`, one expert, and one expert a token. Where layers keep a state, small kernels move at
    least `state_value_bytes` for each value between the layers, whatever the engine. Layers with a window
    look back at no more than its tokens; the others at all. Where a model has an encoder, prompts meet its
    weights, in which the keys and values that the other layers look back at are counted, and the other layers
    only write. In a mixture `dense_layers` hold no experts.
    """

    parameters: Entry
    routed_parameters: Entry
    embedding_parameters: Entry
    head_parameters: Entry
    experts: Entry
    experts_per_token: Entry
    layers: Entry
    hidden: Entry
    attention_width: Entry
    cache_width: Entry
    kv_heads: Entry
    head_dim: Entry
    weight_bytes: Entry
    kv_bytes: Entry
    window_tokens: Entry = 0.0
    windowed_fraction: Entry = 0.0
    encoder_parameters: Entry = 0.0
    encoder_layers: Entry = 0.0
    state_bytes: Entry = 0.0
    state_flop: Entry = 0.0
    state_value_bytes: Entry = 0.0
    expert_hidden: Entry = 0.0
    dense_layers: Entry = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """An accelerator: dense peaks of the weights' precision and of 16 bits, and what kernels reach."""

    peak_tflop_per_s: Entry
    half_peak_tflop_per_s: Entry
    memory_gb_per_s: Entry
    matrix_fraction: Entry
    matrix_half_tokens: Entry
    matrix_half_weights: Entry
    weight_read_fraction: Entry
    matrix_s: Entry
    grouped_fraction: Entry
    grouped_half_tokens: Entry
    grouped_half_weights: Entry
    grouped_read_fraction: Entry
    half_matrix_fraction: Entry
    attention_fraction: Entry
    attention_half_tokens: Entry
    cache_read_fraction: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLayout:
    """Accelerators of a stage: `dp` groups that each share attention over `tp`; experts lie on all of them.

    The link is that of a group for exchanges of tensors and that of the stage for tokens sent to experts. The
    layers of a replica lie on `pp` stages in a row, each with a batch of its own under way; a last link
    passes a batch from one stage to the next.
    """

    tp: Entry
    dp: Entry
    ring_latency_s: Entry
    ring_gb_per_s: Entry
    expert_latency_s: Entry
    expert_gb_per_s: Entry
    pp: Entry = 1.0
    stage_latency_s: Entry = 0.0
    stage_gb_per_s: Entry = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What an engine spends around the kernels: on the host, in small kernels, and waiting for exchanges.

    Where experts lie on r accelerators, the busiest has `imbalance_factor` r^`imbalance_exponent` times the
    operations of one whose experts are chosen as evenly as they can be.

    A step that reads prompts is launched kernel by kernel where engines have recorded only steps that write
    alone: `prompt_layer_s` for a layer, `expert_prompt_layer_s` more where it has experts.

    `stage_wait_fraction` says how far stages wait for each other's prompts: 1 where each batch reads its own
    as they come, 0 where all read as much in each step. `group_wait_fraction` says the same of groups that
    share experts. `prompt_token_s` is what the host takes to make ready a token of a prompt, which the
    accelerators wait for: the spectrum of sound. `shared_s` is what a request of another group takes of the
    host, where one process writes the text of all groups. `ring_factor` is the share of a ring that is seen
    where it runs next to the multiplication before it. `token_s` is what the one process of a group takes to
    hand out a token while the accelerators work: no step is shorter. `sends_to_all` is 1 where all
    accelerators are sent each token, 0 where those of its experts alone are.
    """

    step_s: Entry
    layer_s: Entry
    expert_layer_s: Entry
    sequence_s: Entry
    value_bytes: Entry
    cache_factor: Entry
    link_latency_factor: Entry
    expert_link_factor: Entry
    imbalance_factor: Entry
    imbalance_exponent: Entry = 0.0
    stage_wait_fraction: Entry = 1.0
    group_wait_fraction: Entry = 1.0
    prompt_token_s: Entry = 0.0
    shared_s: Entry = 0.0
    ring_factor: Entry = 1.0
    token_s: Entry = 0.0
    prompt_layer_s: Entry = 0.0
    expert_prompt_layer_s: Entry = 0.0
    sends_to_all: Entry = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Time of a step by what it is spent on, and the bytes and operations of one accelerator."""

    total_s: Column
    matrix_s: Column
    expert_s: Column
    attention_s: Column
    cache_s: Column
    exchange_s: Column
    host_s: Column
    read_gb: Column
    tflop: Column


def on_axes(bundle: Bundle, axes: int) -> Bundle:
    """A bundle of columns with so many axes of length 1 behind them."""
    place = (..., *(None,) * axes)
    values: dict[str, Any] = {f.name: np.asarray(getattr(bundle, f.name))[place] for f in fields(bundle)}
    return type(bundle)(**values)


def with_values(bundle: Bundle) -> Bundle:
    """A bundle of the values of traced columns, to work with outside a trace."""
    columns = {f.name: getattr(bundle, f.name) for f in fields(bundle)}
    values: dict[str, Any] = {
        name: np.asarray(getattr(one, "value", one), dtype=np.float64) for name, one in columns.items()
    }
    return type(bundle)(**values)


def rows_of(bundle: Bundle, index: Any) -> Bundle:
    """Some rows of a bundle of columns; what is the same for all stays as it is."""
    values: dict[str, Any] = {}
    for f in fields(bundle):
        column = np.asarray(getattr(bundle, f.name))
        values[f.name] = column[index] if column.ndim else column
    return type(bundle)(**values)


def matrix_parameters(model: Transformer) -> Column:
    """Weights that each token is multiplied with: all that it meets but the table of the input.

    N_m = N - N_table - N_routed (1 - k/E);  min(N_m - N_enc, N_enc) where an encoder reads prompts

    Source: definition.
    """
    met = model.experts_per_token / model.experts
    whole = model.parameters - model.embedding_parameters - model.routed_parameters * (1.0 - met)
    apart = np.minimum(whole - model.encoder_parameters, model.encoder_parameters)
    result = np.where(np.asarray(model.encoder_parameters) > 0, apart, whole)
    return result if result.ndim else float(result)


def touched_routed_parameters(*, model: Transformer, tokens: Column) -> Column:
    """Weights of experts that a step reads when so many tokens choose among them.

    N_te = N_routed (1 - (1 - k/E)^n)

    Experts are taken as equally likely; skewed routing touches fewer.

    Source: expected coverage of independent draws; see README.md of this folder.
    """
    result: Column = model.routed_parameters * met_experts_fraction(model=model, tokens=tokens)
    return result


def met_experts_fraction(*, model: Transformer, tokens: Column) -> Column:
    """Share of the experts that at least one of so many tokens chooses.

    x = 1 - (1 - k/E)^n

    Source: as `touched_routed_parameters`.
    """
    require_not_negative(tokens=tokens)
    result: Column = 1.0 - (1.0 - model.experts_per_token / model.experts) ** tokens
    return result


def busiest_operations_ratio(*, model: Transformer, chip: Chip, engine: Engine, ranks: Column) -> Column:
    """Operations for experts on the busiest of r accelerators, over even ones at the largest matrices' rate.

    y min(r^v (1 + w_h/w_e), 1 + r w_h/w_e)

    Experts lie whole on accelerators, some of which are chosen more often, or each is cut over all of them,
    which are then busy alike with narrower matrices: engines do either, and who serves takes the faster.

    Args:
        model: what is served; w_e weights are in each matrix of an expert, held in two.
        chip: w_h weights halve the rate of its grouped matrices.
        engine: y and v, `imbalance_factor` and `imbalance_exponent`.
        ranks: r, accelerators that share the experts.

    Source: y, v and w_h from measured kernels (data/facts/engines.csv, kernels.csv). That it is the smaller:
    17 rates of Mixtral on 2 to 8 A100 (TensorRT-LLM performance overview 0.14), 34 % off in the mean with
    whole experts alone, 14 % with both.
    """
    held = model.routed_parameters / (model.experts * MATRICES / 2.0 * (model.layers - model.dense_layers))
    narrow = chip.grouped_half_weights / np.maximum(held, 1.0)
    uneven = np.asarray(ranks) ** engine.imbalance_exponent
    result: Column = engine.imbalance_factor * np.minimum(uneven * (1.0 + narrow), 1.0 + ranks * narrow)
    return result


def attended_tokens(*, model: Transformer, context_tokens: Column) -> Column:
    """Tokens whose keys and values a layer keeps and a writing request reads, mean over the layers.

    n = (1 - x) c + x min(c, w)

    x is the share of layers that look back at w tokens alone. Blocks that a window has left are given back,
    as engines of 2025 and later do.

    Source: Beltagy, Peters and Cohan, "Longformer", arXiv 2004.05150, section 3.1 (sliding windows).
    """
    require_not_negative(context_tokens=context_tokens)
    seen = np.minimum(context_tokens, model.window_tokens)
    result: Column = (1.0 - model.windowed_fraction) * context_tokens + model.windowed_fraction * seen
    return result


def prompt_attended_tokens(*, model: Transformer, prompt_tokens: Column) -> Column:
    """Tokens that a token of a prompt attends to, mean over the prompt and over the layers.

    n = (1 - x) p/2 + x m (1 - m/(2 p)),  m = min(p, w);  p in an encoder, where all see all

    Source: mean of min(i, w) over i from 0 to p, as `attended_tokens`.
    """
    require_not_negative(prompt_tokens=prompt_tokens)
    hears = np.asarray(model.encoder_parameters) > 0
    seen = np.minimum(prompt_tokens, model.window_tokens)
    windowed = seen * (1.0 - seen / (2.0 * np.maximum(prompt_tokens, 1.0)))
    all_see, some_see = 1.0 - model.windowed_fraction, model.windowed_fraction
    looking_back = all_see * prompt_tokens / 2.0 + some_see * windowed
    result: Column = np.where(hears, prompt_tokens, looking_back)
    return result if np.ndim(result) else float(result)


def step_times(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    writing: Column,
    prefill_tokens: Column,
    context_tokens: Column,
    prompt_tokens: Column,
    other_tokens: Column | None = None,
    draft_tokens: Column = 0.0,
    reading_steps: Column | None = None,
) -> StepTimes:
    """Time of one step of a group of a replica, with continuous batching also the time between two tokens.

    T = [W/(M e_w)]_4[F (1 + n_h/n)(1 + w_h/w)/(P e)] + experts + head + attention + cache
        + c n h L/M + exchanges + T_step + T_layer L + T_expert L_e + T_seq b/d + T_shared b (d-1)/d
        + T_prompt q + (T_read L + T_read_expert L_e) x

    a_4b is (a^4 + b^4)^(1/4), n = (b + q)/d tokens of a group that shares attention, all for each
    accelerator. Weights of attention and of layers that all share lie on t accelerators and are repeated on d
    groups, w of them in each matrix, a quarter of a layer. Experts lie on all r = t d; their term is of the
    same form with n_e = (b + q) k/E tokens each and the shares of grouped matrices, its tiles filled up for
    the experts alone that somebody chose. Its operations are those of the busiest accelerator
    (`busiest_operations_ratio`); its bytes are not. The head writes b/d tokens in 16 bits. Attention
    of q/d prompt tokens, each over half of a prompt of p tokens, takes 4 (p/2) w q/(d t) operations a layer
    at e_a p/(p + p_h) of the 16-bit peak. b/d caches of c tokens are read at e_c M, repeated where there are
    fewer heads than accelerators; layers with a window attend to and read fewer (`attended_tokens`). Layers
    with a state read and write it, 2 b S/(d t), and take F_s operations a token at the rate of attention.
    c bytes are moved for each value between the layers. Where there is an encoder, its matrices and attention
    take the q tokens, in which all see all, and the other layers the b. Exchanges are those of `exchange_s`,
    to experts in 8 bits and back in 16. L_e layers hold experts, and they alone take T_expert and
    T_read_expert. Where d_s tokens are guessed for each
    request, a step checks 1 + d_s of each: b (1 + d_s) in place of b but for the reading of caches; the
    guesses take d_s times the head and one layer more of such a step, as the module that guesses is a
    layer.

    Where layers lie on p stages, p batches are under way, one in each, and all wait for the slowest stage,
    the last one of those with most layers: T = u (terms of layers) + p (head + T_step + T_seq b/d)
    + (p-1) (lat_p + n h 2 B/N_p), u = ceil(L/p) p/L. That is the step of each batch; a replica takes p of
    them in it. No step is shorter than what the host takes to hand out its tokens, p T_token b.

    Args:
        model: what is served.
        chip: accelerator of the replica.
        engine: what serves.
        layout: of the replica.
        writing: b, requests of the group that write a token in this step.
        prefill_tokens: q, prompt tokens that the group reads in it.
        context_tokens: tokens whose keys and values a writing request reads.
        prompt_tokens: p, length over which a prompt attends, mean over the prompt tokens.
        other_tokens: n_others, tokens of all other groups; as many as this one's in each where None.
        draft_tokens: d_s, tokens guessed ahead for each writing request and checked in this step.
        reading_steps: x, steps that read a part of a prompt for which this one stands; one where the group
            reads and none else where None. Engines let groups read in the same steps, as all wait for each.

    Source: roofline with a soft corner (Williams, Waterman and Patterson, CACM 2009); volumes of a ring
    all-reduce and of an all-to-all; constants fitted by benchmarks/studies/fit_serving.py on measured kernels
    and served runs, see README.md of this folder.
    """
    _check(model, chip, layout)
    require_not_negative(
        writing=writing,
        prefill_tokens=prefill_tokens,
        context_tokens=context_tokens,
        prompt_tokens=prompt_tokens,
        draft_tokens=draft_tokens,
    )
    ranks = layout.tp * layout.dp
    checked = writing * (1.0 + draft_tokens)
    bytes_per_s = chip.memory_gb_per_s * 1e9
    flop_per_s, half_flop_per_s = chip.peak_tflop_per_s * 1e12, chip.half_peak_tflop_per_s * 1e12
    own = checked + prefill_tokens
    stages = np.asarray(layout.pp)
    uneven = np.where(stages > 1, np.ceil(model.layers / stages) * stages / model.layers, 1.0)
    tokens = own * layout.dp if other_tokens is None else own + other_tokens

    head = model.head_parameters / layout.tp
    hears = np.asarray(model.encoder_parameters) > 0
    heard = np.where(hears, prefill_tokens, 0.0)
    written = own - heard
    encoder = model.encoder_parameters / layout.tp
    layers_only = model.parameters - model.routed_parameters - model.embedding_parameters
    common = layers_only / layout.tp - head - encoder
    routes = model.routed_parameters > 0
    narrow = 1.0 + chip.matrix_half_weights * MATRICES * model.layers / np.maximum(common, 1.0)
    expert_layers = np.where(routes, model.layers - model.dense_layers, 0.0)
    matrices = MATRICES * model.layers - MATRICES / 2.0 * expert_layers
    matrix_s = matrices * chip.matrix_s + _corner(
        common * model.weight_bytes / (bytes_per_s * chip.weight_read_fraction),
        2.0 * common * (written + chip.matrix_half_tokens) * narrow / (flop_per_s * chip.matrix_fraction),
    )
    thin = 1.0 + chip.matrix_half_weights * MATRICES * model.encoder_layers / np.maximum(encoder, 1.0)
    encoder_s = MATRICES * model.encoder_layers * chip.matrix_s + _corner(
        encoder * model.weight_bytes / (bytes_per_s * chip.weight_read_fraction),
        2.0 * encoder * (heard + chip.matrix_half_tokens) * thin / (flop_per_s * chip.matrix_fraction),
    )
    matrix_s = uneven * (matrix_s + np.where(heard > 0, encoder_s, 0.0))
    head_flop = 2.0 * head * checked
    head_s = stages * _corner(
        head * 2.0 / (bytes_per_s * chip.weight_read_fraction),
        head_flop / (half_flop_per_s * chip.half_matrix_fraction),
    )

    met = model.routed_parameters * model.experts_per_token / model.experts / ranks
    # Rows that fill a tile up are multiplied for the experts that somebody chose, and for no other.
    filled = met_experts_fraction(model=model, tokens=tokens)
    half = filled * chip.grouped_half_tokens * model.experts / model.experts_per_token
    touched = touched_routed_parameters(model=model, tokens=tokens) / ranks
    busiest = busiest_operations_ratio(model=model, chip=chip, engine=engine, ranks=ranks)
    expert_s = uneven * _corner(
        touched * model.weight_bytes / (bytes_per_s * chip.grouped_read_fraction),
        busiest * 2.0 * met * (tokens + half) / (flop_per_s * chip.grouped_fraction),
    )

    attended = prompt_attended_tokens(model=model, prompt_tokens=prompt_tokens)
    attending = np.where(hears, model.encoder_layers, model.layers)
    attention_flop = 4.0 * attended * model.attention_width * attending * prefill_tokens / layout.tp
    longer = 1.0 + chip.attention_half_tokens / np.maximum(prompt_tokens, 1.0)
    state_flop = model.state_flop * own / layout.tp
    attention_s = uneven * attention_flop * longer / (half_flop_per_s * chip.attention_fraction)
    attention_s = attention_s + uneven * state_flop / (half_flop_per_s * chip.attention_fraction)

    split = np.minimum(layout.tp, model.kv_heads)
    token_bytes = 2.0 * model.layers * model.kv_heads * model.head_dim * model.kv_bytes / split
    read_tokens = writing * attended_tokens(model=model, context_tokens=context_tokens)
    states_bytes = 2.0 * writing * model.state_bytes / layout.tp
    cache_bytes = read_tokens * token_bytes + states_bytes
    scores_flop = 4.0 * model.cache_width * model.layers * read_tokens * (1.0 + draft_tokens) / layout.tp
    cache_s = uneven * _corner(
        engine.cache_factor * cache_bytes / (bytes_per_s * chip.cache_read_fraction),
        scores_flop / (half_flop_per_s * chip.attention_fraction),
    )

    passes = written * model.layers + heard * model.encoder_layers
    moved_bytes = np.maximum(engine.value_bytes, model.state_value_bytes)
    moved_s = uneven * moved_bytes * passes * model.hidden / bytes_per_s
    exchange = uneven * exchange_s(model=model, engine=engine, layout=layout, tokens=own)
    kernels_s = uneven * (engine.layer_s * model.layers + engine.expert_layer_s * expert_layers)
    launched_s = engine.prompt_layer_s * model.layers + engine.expert_prompt_layer_s * expert_layers
    reading = np.where(np.asarray(prefill_tokens) > 0, 1.0, 0.0) if reading_steps is None else reading_steps
    host_s = stages * engine.step_s + kernels_s + stages * engine.sequence_s * writing
    host_s = host_s + engine.prompt_token_s * prefill_tokens
    host_s = host_s + engine.shared_s * writing * (layout.dp - 1.0)
    host_s = host_s + uneven * launched_s * reading
    in_layers_s = matrix_s + expert_s + cache_s + moved_s + exchange + kernels_s
    passed_on_s = (stages - 1.0) * (
        layout.stage_latency_s + 2.0 * own * model.hidden / 1e9 / layout.stage_gb_per_s
    )
    guesses_s = draft_tokens * (head_s + in_layers_s / model.layers)
    worked_s = (
        matrix_s
        + head_s
        + expert_s
        + attention_s
        + cache_s
        + moved_s
        + exchange
        + passed_on_s
        + host_s
        + guesses_s
    )
    waited_s = np.maximum(stages * engine.token_s * writing - worked_s, 0.0)
    return StepTimes(
        total_s=worked_s + waited_s,
        matrix_s=matrix_s + head_s + guesses_s,
        expert_s=expert_s,
        attention_s=attention_s,
        cache_s=cache_s,
        exchange_s=exchange + passed_on_s,
        host_s=host_s + moved_s + waited_s,
        read_gb=(
            (common + np.where(heard > 0, encoder, 0.0) + touched) * model.weight_bytes
            + head * 2.0
            + cache_bytes
        )
        / 1e9,
        tflop=(
            2.0 * (common * written + encoder * heard + met * tokens)
            + head_flop
            + attention_flop
            + state_flop
            + scores_flop
        )
        / 1e12,
    )


def exchange_s(*, model: Transformer, engine: Engine, layout: ReplicaLayout, tokens: Column) -> Column:
    """Time that a step spends in exchanges between the accelerators of a replica, for the tokens of a group.

    x = (2 L - L_s) (f lat + f_r 2 (t-1)/t n h 2 B/N_t) if t > 1
        + L_s f_e (2 lat_r + 2 (r-1)/r n/t min(k, r) w 1.5 B/N_r),  L_s = L_e if experts lie on several groups

    w is h, or `expert_hidden` where tokens are narrowed before their experts. L_e layers hold experts: what
    comes back from experts of several groups is summed on the way, in place of the second ring of a layer.
    Each of the t accelerators of a group sends its part of the group's tokens. Where an engine sends to all,
    tokens are gathered on every accelerator and sums scattered: r, not min(k, r).

    Source: volumes of a ring all-reduce and of an all-to-all, as in `step_times`.
    """
    ranks = layout.tp * layout.dp
    value_s = tokens * model.hidden / 1e9
    ring_s = 2.0 * (layout.tp - 1.0) / layout.tp * 2.0 * value_s / layout.ring_gb_per_s
    ring = engine.link_latency_factor * layout.ring_latency_s + engine.ring_factor * ring_s
    copies = np.where(np.asarray(engine.sends_to_all) > 0, ranks, np.minimum(model.experts_per_token, ranks))
    sent = copies * (ranks - 1.0) / ranks
    narrowed = np.where(np.asarray(model.expert_hidden) > 0, model.expert_hidden / model.hidden, 1.0)
    all_to_all_s = 2.0 * sent * 1.5 * narrowed * value_s / layout.tp / layout.expert_gb_per_s
    to_experts = engine.expert_link_factor * (2.0 * layout.expert_latency_s + all_to_all_s)
    routes = (model.routed_parameters > 0) & (np.asarray(layout.dp) > 1)
    sending = np.where(routes, model.layers - model.dense_layers, 0.0)
    rings = np.where(np.asarray(layout.tp) > 1, 2.0 * model.layers - sending, 0.0)
    result: Column = rings * ring + sending * to_experts
    return result


def group_size_value(*, at_two: Column, at_four: Column, at_eight: Column, accelerators: Column) -> Column:
    """A property of a link in a group of so many accelerators, from those of 2, 4 and 8; flat beyond.

    ln y(n) is a straight line in ln n between the measured sizes

    Source: interpolation; larger groups lie in one switched domain, where a ring keeps its bandwidth.
    """
    require_positive(at_two=at_two, at_four=at_four, at_eight=at_eight, accelerators=accelerators)
    place = np.log2(np.clip(accelerators, 2.0, 8.0)) - 1.0
    two, four, eight = np.log(at_two), np.log(at_four), np.log(at_eight)
    result: Column = np.exp(
        two + np.clip(place, 0.0, 1.0) * (four - two) + np.clip(place - 1.0, 0.0, 1.0) * (eight - four)
    )
    return result


def _corner(first_s: Column, second_s: Column) -> Column:
    """Two times that overlap, with a soft corner."""
    longest = np.maximum(np.maximum(first_s, second_s), np.finfo(np.float64).tiny)
    result: Column = longest * ((first_s / longest) ** NORM + (second_s / longest) ** NORM) ** (1.0 / NORM)
    return result


def _check(model: Transformer, chip: Chip, layout: ReplicaLayout) -> None:
    """Refuse sizes, rates and shares that no hardware has."""
    require_positive(
        parameters=model.parameters,
        experts=model.experts,
        experts_per_token=model.experts_per_token,
        layers=model.layers,
        hidden=model.hidden,
        kv_heads=model.kv_heads,
        weight_bytes=model.weight_bytes,
        tp=layout.tp,
        dp=layout.dp,
        peak_tflop_per_s=chip.peak_tflop_per_s,
        half_peak_tflop_per_s=chip.half_peak_tflop_per_s,
        memory_gb_per_s=chip.memory_gb_per_s,
        ring_gb_per_s=layout.ring_gb_per_s,
        expert_gb_per_s=layout.expert_gb_per_s,
        pp=layout.pp,
        stage_gb_per_s=layout.stage_gb_per_s,
    )
    require_not_negative(
        routed_parameters=model.routed_parameters,
        embedding_parameters=model.embedding_parameters,
        head_parameters=model.head_parameters,
        matrix_half_tokens=chip.matrix_half_tokens,
        matrix_half_weights=chip.matrix_half_weights,
        grouped_half_tokens=chip.grouped_half_tokens,
        grouped_half_weights=chip.grouped_half_weights,
        attention_half_tokens=chip.attention_half_tokens,
        window_tokens=model.window_tokens,
        encoder_parameters=model.encoder_parameters,
        encoder_layers=model.encoder_layers,
        state_bytes=model.state_bytes,
        state_flop=model.state_flop,
        expert_hidden=model.expert_hidden,
    )
    require_share(windowed_fraction=model.windowed_fraction)
    require_open_share(
        matrix_fraction=chip.matrix_fraction,
        weight_read_fraction=chip.weight_read_fraction,
        grouped_fraction=chip.grouped_fraction,
        grouped_read_fraction=chip.grouped_read_fraction,
        half_matrix_fraction=chip.half_matrix_fraction,
        attention_fraction=chip.attention_fraction,
        cache_read_fraction=chip.cache_read_fraction,
        experts_per_token_over_experts=model.experts_per_token / model.experts,
    )
