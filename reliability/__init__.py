"""Reliability: from a failure log to rates, lifetimes, checkpoints, training time, spares and forecasts.

A leaf: plain numbers or NumPy columns in, the same out. lifelines is loaded only for a cross-check, pandas
and DuckDB only in `reliability.logs`, which is not imported here.

Modules:
- backtest: Did such forecasts hold? Each period of a log is forecast from what lay before it alone.
- checkpoint: When to write a checkpoint, how long that takes, and what each state of a job costs.
- cohorts: Ageing fleets: each cohort fails at the hazard of its age, not all at one rate.
- columns: What an equation takes and gives: one number, or a column of them.
- competing: What units die of, where one cause takes them before another can: cumulative incidence by
  cause.
- covariates: Covariates of lives: how they become columns, which rows are alike, and the ratios that a
  fit gives them.
- cox: What makes some units die sooner: Cox's hazard ratios, by numbers and by levels.
- crosscheck: Our estimates next to those of lifelines, from the same rows.
- definitions: What was counted as a failure.
- domain: Checks of what an equation may be given: each names the parameter, the value and what to do
  instead.
- ettr: Effective training time ratio (ETTR): useful hours for each hour that a job is there.
- families: The likelihood of each family of lifetimes, and where it is highest.
- finish: When a job is done and what it loses on the way: quantiles, from luck and from doubt about the
  rate.
- fitting: Lifetimes from logs: parametric fits, the choice between them, and how sure they are.
- fleet: From failures that were counted to the failure rate of a node and the time between failures of a
  job.
- fleet_setting: What a fleet to simulate is made of: nodes and their ages, how they fail, repairs, what a
  stop takes.
- fleet_simulation: One synchronous job on a fleet, node by node: the independent route to spares, weak
  nodes and ageing.
- forecast: How many failures the next period brings, with an interval that holds.
- goodness: Whether a fitted lifetime could have made the deaths that a log shows, age by age.
- groups: How far counts of periods or groups differ beyond chance, and the rates of groups drawn
  together.
- lemons: Which nodes fail too often to be chance, and what is gained without them.
- lifetimes: How long things live. A model states its cumulative hazard; everything else follows from
  that.
- likelihood: Where a likelihood is highest, and how far an interval reaches around it.
- logs: Logs in: from a file that a scheduler, a kernel or a person wrote to failures, lives and node-
  hours.
- outages: How many spare nodes a fleet's own outage history asks for.
- policies: How flat the best interval is.
- promises: Is enough up for what is promised: replicas of a service on nodes that fail, restart and are
  repaired.
- recurrent: Units that fail, are repaired and fail again: whether their rate has a trend.
- restart: What follows a failure before the job works on: a restart made of parts.
- rollback: Stops that throw stored work away: loss spikes, and results that were wrong before it was seen.
- rows: Rows of lives: checked, those alike counted once, and who is at risk at an age.
- sampling_error: How sure a mean or a percentile of played values is.
- search: Least points and flat ends of a cost with one valley, on columns: what the numeric optima share.
- simulate: Monte Carlo of a job with failures: the independent route to ETTR, to finish times and to
  hours by state.
- spares: How many spare nodes, so that repairs seldom leave a job or a service short.
- step_time: Step time as a random number: how long is a step that waits for the slowest of many ranks.
- survival: What a log shows without a model: who survived, who was at risk, and how far a model is from
  that.
- two_level: Quick local saves between durable remote ones: hours in each state, and the pattern of least
  cost.
- two_level_ettr: ETTR of a two-level pattern: quick local saves between durable remote ones, and its least
  waste.
- two_level_simulation: Monte Carlo of a job with local and remote checkpoints: the independent route to
  its ETTR.
- weibull_regression: What makes some units last longer: Weibull time ratios, by numbers and by levels.
- writing: How long a checkpoint takes to write: shared storage, the nodes' links, background copies.
"""
