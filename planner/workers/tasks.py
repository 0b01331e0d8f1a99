"""The work that can be asked for: name -> module and function, brought in by the worker alone."""

TASKS = {
    "read-log": "planner.workers.logs:read",
    "fit-log": "planner.workers.logs:fit",
    "plan": "planner.workers.planning:plan",
    "program": "planner.workers.planning:program",
    "save": "planner.workers.planning:save",
    "front": "planner.workers.tradeoffs:front",
    "front_of_time": "planner.workers.tradeoffs:front_of_time",
    "alternatives": "planner.workers.tradeoffs:alternatives",
    "sensitivity": "planner.workers.tradeoffs:sensitivity",
    "attribution": "planner.workers.comparing:attribution",
    "job": "planner.workers.jobs:estimate",
}
