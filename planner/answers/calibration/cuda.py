"""An NVIDIA device through an installed PyTorch and NVML; neither is needed for anything else."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from planner.answers.calibration.probe import Load, NothingToMeasure

PAUSE_S = 0.02  # between two readings of the power counter


class CudaDevice:
    """The first visible NVIDIA device."""

    def __init__(self, torch: Any, nvml: Any) -> None:
        self._torch, self._nvml = torch, nvml
        properties = torch.cuda.get_device_properties(0)
        self._handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}")
        self.name = str(properties.name)
        self.driver = str(nvml.nvmlSystemGetDriverVersion())
        self.software = f"PyTorch {torch.__version__}"

    def multiply(self, width: int, repeats: int) -> Load:
        """Multiply square bf16 matrices."""
        torch = self._torch
        # Random values: zeros would draw less power and run faster.
        left, right = (torch.randn(width, width, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        product = torch.empty_like(left)
        return self._run(lambda: torch.matmul(left, right, out=product), repeats)

    def copy(self, size_gb: float, repeats: int) -> Load:
        """Copy a block within the device's memory."""
        torch = self._torch
        origin = torch.ones(round(size_gb * 1e9), device="cuda", dtype=torch.uint8)
        target = torch.empty_like(origin)
        return self._run(lambda: target.copy_(origin), repeats)

    def idle_power_w(self, samples: int) -> tuple[float, ...]:
        """Power while nothing runs."""
        self._torch.cuda.synchronize()
        time.sleep(1.0)  # the counter averages over a second
        readings = []
        for _ in range(samples):
            readings.append(self._power_w())
            time.sleep(PAUSE_S)
        return tuple(readings)

    def _run(self, work: Callable[[], Any], repeats: int) -> Load:
        """Queue the work, read the power until the device is done."""
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._torch.cuda.synchronize()
        readings = []
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        while not end.query():
            readings.append(self._power_w())
            time.sleep(PAUSE_S)
        end.synchronize()
        return Load(start.elapsed_time(end) / 1000.0, tuple(readings))

    def _power_w(self) -> float:
        return float(self._nvml.nvmlDeviceGetPowerUsage(self._handle)) / 1000.0


def cuda_device() -> CudaDevice:
    """The device of this machine.

    Raises:
        NothingToMeasure: PyTorch, NVML or an NVIDIA device is missing.
    """
    torch = _installed("torch", "PyTorch")
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise NothingToMeasure("nothing to measure: PyTorch sees no NVIDIA device on this machine")
    if not hasattr(torch.cuda.get_device_properties(0), "uuid"):
        raise NothingToMeasure(
            "nothing to measure: this PyTorch does not name its device; install a newer one"
        )
    nvml = _installed("pynvml", "the NVML binding (nvidia-ml-py)")
    try:
        nvml.nvmlInit()
        return CudaDevice(torch, nvml)
    except nvml.NVMLError as error:
        raise NothingToMeasure(f"nothing to measure: NVML does not answer: {error}") from None


def _installed(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NothingToMeasure(
            f"nothing to measure: {name} is not installed here; nothing but --measure needs it"
        ) from None
