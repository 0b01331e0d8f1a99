"""What processes of questions are forked with: importing this imports and reads what answers need."""

from importlib import import_module

from planner.inputs.loading import data_folder, load_catalogue

# Functions of `everfleet` import these when they are called, and all that these need.
for _room in ("calibration", "checkpoints", "failures", "job", "plan", "throughput"):
    import_module(f"planner.answers.{_room}.document")
load_catalogue(data_folder())
