"""Requests of a service as a scenario states them: how long they are, how that spreads, and how they come."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Service
from planner.performance.demand import recording_windows, window_text_tokens
from planner.performance.mix import PromptClasses, RequestMix, prompt_classes, request_mix, spread_mix
from planner.trace.quantities import Fact, Traced, chosen, derive

CLASSES_PER_DOUBLING = 2  # of prompts; eight move no capacity of the shipped traces by more than 0.5 %
LEAST = 1e-9  # tokens: answers of no length have no ratio to their mean


def windows_of(inputs: Inputs, service: Service) -> Traced | None:
    """Windows of a recording, each heard as a request of its own; None where it is one, or no sound."""
    if service.audio_s is None:
        return None
    found = derive(
        recording_windows,
        audio_s=inputs.yours(f"{service.place}.audio", service.audio_s, "s"),
        window_s=inputs.fact(f"speech.{service.model}.window"),
    )
    return found if float(found.value) > 1.0 else None


def _window_tokens(inputs: Inputs, service: Service) -> tuple[Traced, Traced]:
    """Frames that a model of speech hears of a window, and tokens that it writes of it."""
    assert service.audio_s is not None, "asked of sound alone"
    windows = windows_of(inputs, service)
    frames = inputs.fact(f"speech.{service.model}.encoder_tokens")
    if service.tokens_out is not None:
        written = inputs.yours(f"{service.place}.tokens_out", service.tokens_out, "1")
        return frames, written if windows is None else (written / windows).named("output_tokens")
    one = chosen("windows", 1.0, "its sound is heard at once")
    return frames, derive(
        window_text_tokens,
        audio_s=inputs.yours(f"{service.place}.audio", service.audio_s, "s"),
        windows=one if windows is None else windows,
        tokens_per_s=inputs.fact("speech.default.tokens_per_s"),
    )


def _mean_of_classes(inputs: Inputs, service: Service, key: str) -> Traced:
    """Mean length of the requests of all classes of a service."""
    found: Traced | None = None
    for i, one in enumerate(service.classes):
        at = f"services.{service.name}.classes[{i}]"
        share = inputs.yours(f"{at}.share", one.share_fraction, "1")
        part = share * inputs.yours(f"{at}.{key}", getattr(one, key), "1")
        found = part if found is None else found + part
    assert found is not None, "asked of services with classes"
    return found.named(key)


def request_tokens(inputs: Inputs, service: Service) -> tuple[Traced, Traced]:
    """Mean prompt and answer of a service, from its trace or as stated; of a window where it hears."""
    if service.traffic is not None:
        traffic = f"traffic.{service.traffic}"
        return inputs.fact(f"{traffic}.mean_context"), inputs.fact(f"{traffic}.mean_generated")
    if service.classes:
        return _mean_of_classes(inputs, service, "tokens_in"), _mean_of_classes(inputs, service, "tokens_out")
    if service.audio_s is not None:
        return _window_tokens(inputs, service)
    return (
        inputs.yours(f"{service.place}.tokens_in", float(service.tokens_in or 0), "1"),
        inputs.yours(f"{service.place}.tokens_out", float(service.tokens_out or 0), "1"),
    )


def mix_of(inputs: Inputs, service: Service) -> RequestMix | None:
    """Requests of a service by their lengths, of its trace or all alike; None where only means are known."""
    if service.answers == "alike":
        return request_mix(
            context_tokens=[float(service.tokens_in or 0)],
            generated_tokens=[float(service.tokens_out or 0)],
            requests=[1.0],
        )
    if service.classes:
        shares, prompts, answers = _columns(service)
        return spread_mix(share_fraction=shares, input_tokens=prompts, output_tokens=answers)
    sample = inputs.catalogue.folder / "samples" / f"{service.traffic}.csv"
    return None if service.traffic is None or not sample.is_file() else _mix(sample)


def request_classes(inputs: Inputs, service: Service) -> PromptClasses:
    """How requests of a service spread around their means; one class where only means are known."""
    if service.classes:
        shares, prompts, answers = _columns(service)
        prompt, answer = float(shares @ prompts), float(shares @ answers)
        return PromptClasses(shares, prompts / prompt, answers / max(answer, LEAST), np.ones(len(shares)))
    mix = mix_of(inputs, service)
    if mix is None:
        return PromptClasses(*np.ones((4, 1)))
    return prompt_classes(mix, classes_per_doubling=CLASSES_PER_DOUBLING)


def arrival_scv(inputs: Inputs, service: Service) -> Fact:
    """Squared coefficient of variation of the time between requests: 1 is Poisson, bursts are above."""
    return inputs.fact(f"traffic.{service.traffic or 'default'}.arrival_cv2")


def trace_rate(inputs: Inputs, service: Service) -> Fact:
    """Requests a second of the trace that a service's traffic is like."""
    return inputs.fact(f"traffic.{service.traffic or 'default'}.rate")


def _columns(service: Service) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Shares, prompts and answers of the classes of a service."""
    each = [(one.share_fraction, one.tokens_in, one.tokens_out) for one in service.classes]
    shares, prompts, answers = np.array(each, dtype=np.float64).T
    return shares, prompts, answers


@cache
def _mix(sample: Path) -> RequestMix:
    """A joint histogram of lengths in `data/samples`."""
    lengths = np.loadtxt(sample, delimiter=",", skiprows=1, unpack=True)
    return request_mix(context_tokens=lengths[0], generated_tokens=lengths[1], requests=lengths[2])
