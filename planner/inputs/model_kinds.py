"""What kind a model of the catalogue is, asked in one place, and the words for it."""

from __future__ import annotations

from collections.abc import Iterable

from planner.inputs.catalogue import Catalogue

LANGUAGE, SPEECH, VISION = "language", "speech", "vision"
RECOMMENDATION, DIFFUSION = "recommendation", "diffusion"
# Kind -> room of the catalogue and the fact that each of its models has; the first that fits counts.
ROOMS = {
    VISION: ("model", "patch_pixels"),
    LANGUAGE: ("model", "layers"),
    SPEECH: ("speech", "encoder_layers"),
    RECOMMENDATION: ("recommendation", "embedding_rows"),
    DIFFUSION: ("diffusion", "steps"),
}
KINDS = tuple(ROOMS)
WRITES = (LANGUAGE, SPEECH)  # served by an engine for language models, token by token
IN_BATCHES = (RECOMMENDATION, DIFFUSION, VISION)  # whose requests are answered as a whole
TRAINED = (LANGUAGE, VISION, RECOMMENDATION, DIFFUSION)  # by runs; speech is served alone
BY_SAMPLES = (RECOMMENDATION, DIFFUSION, VISION)  # trained on samples; vision models on tokens as well
WORDS = {
    LANGUAGE: "a language model",
    SPEECH: "a model of speech",
    VISION: "a vision model",
    RECOMMENDATION: "a recommendation model",
    DIFFUSION: "a model that makes images or films",
}


def kind_of_model(catalogue: Catalogue, model: str | None) -> str:
    """Kind of a model, one of `KINDS`; empty where the catalogue does not have it."""
    for kind, (room, fact) in ROOMS.items():
        if model and catalogue.has(f"{room}.{model}.{fact}"):
            return kind
    return ""


def score_key(catalogue: Catalogue, model: str) -> str:
    """Key of the score by which a model is compared with others of its kind."""
    if kind_of_model(catalogue, model) == RECOMMENDATION:
        return f"recommendation.{model}.score"
    return f"model.{model}.mmlu"


def models_of(catalogue: Catalogue, kinds: Iterable[str] = KINDS) -> tuple[str, ...]:
    """Names of the models of some kinds, in the order of their rooms."""
    wanted = set(kinds)
    found = {
        name: None
        for room, fact in ROOMS.values()
        for name in catalogue.names(room, fact)
        if kind_of_model(catalogue, name) in wanted
    }
    return tuple(found)


def is_film(catalogue: Catalogue, model: str) -> bool:
    """Whether a model makes films."""
    key = f"diffusion.{model}.frames"
    return catalogue.has(key) and catalogue.fact(key).value > 1


def item_of(catalogue: Catalogue, model: str) -> str:
    """What a model that answers as a whole works on, in the plural."""
    kind = kind_of_model(catalogue, model)
    if kind == RECOMMENDATION:
        return "samples"
    return "videos" if is_film(catalogue, model) else "images"
