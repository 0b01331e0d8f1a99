"""Carbon as plain equations on numbers or columns: embodied, operational, grid, attribution, ledger.

A leaf: it reads no file and knows nothing of planning. Names end in their unit; arguments go by keyword.
Formulas of other tools, for comparison only, are in `carbon.peers`.

Modules:
- attribution: Who carries embodied carbon, and when: by the hour of the calendar, or by the hour of use.
- columns: What an equation takes and gives: one number, or a column of them.
- edge: A small device over its life: what its accelerator can do, and the carbon of what it is asked.
- embodied: Embodied carbon: what it takes to make dies, memory, accelerators, servers and the room around
  them.
- energy: Energy of a job or a service by what its nodes were doing, at their plugs: PUE is not in it.
- federated: Carbon of federated learning: phones compute, updates travel, a server waits.
- grid: Grid intensity: conversions, projections, contracts, and what hours do to a yearly mean.
- hourly: Hourly grid intensity: one value an hour in UTC, gaps as gaps, with the signal that it is of.
- ledger: The ledger: lines of carbon and water that add up, by scope, by category and by phase.
- levers: What a lever does to a footprint: its own factor, the part that it reaches, and others next to
  it.
- lines: Lines of a ledger: one entry of carbon, one of water.
- market: Electricity under contract: location and market side by side, matched over the year or hour by
  hour.
- operational: Operational carbon: of electricity, and the hours that a number of operations takes.
- participation: Who takes part: the share of each group among the devices picked, against its share of
  all devices.
- peers: Formulas of other public tools, to reproduce their numbers and explain why ours differ.
- phases: From one phase of a model's life to another, where only their shares are known.
- power: Power of a machine: by utilisation, and under a cap.
- pue: From the plug of the node to the meter of the facility.
- rounds: How many sessions and hours a federated job takes: in rounds, or with a buffer and no rounds.
- scopes: What a line of a ledger is: its phase, its scope and its category.
- scores: A footprint over what it gave: useful accelerator-hours, requests, tokens.
- shifting: Moving work in time: the lowest intensity that it can meet.
- signals: What a grid intensity means: intensities of different signals never meet in one equation.
- slots: A period as a few slots: types of day, parts of the day, and what each emits for three kinds of
  load.
- states: Carbon of a job by what its hours were for: useful, repeated, stalled, waiting.
- synthetic: A synthetic hourly profile for zones without a series that may be shipped. Nothing in it was
  measured.
- water: Water that a load evaporates, on site on IT energy and at power stations on facility energy: each
  once.
- yields: How many good dies a wafer gives, as peers count them: Seeds' yield, and the wafer's geometry.
"""
