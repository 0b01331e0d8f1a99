"""What a layout achieves: memory, speed and power of training and serving on numbers or columns.

Every public function is one documented equation; see README.md of this folder for symbols and errors.

Modules:
- adapters: Low-rank adapters next to frozen weights (LoRA).
- arrivals: Draws of what reaches replicas: requests of a trace, dealt out at random, and failures of
  their nodes.
- batches: Requests that are answered in batches: what one unit takes within a response time, and how busy
  it is.
- bundles: Bundles: arguments that travel together, under the field's names.
- calibrate: One measured point per accelerator, carried to all sizes; and what a probe of a device saw.
- calibrate_serving: What measured serving points say about other batches, sizes and models of the same
  hardware and engine.
- capacity: How many requests per second one replica can take while it keeps its latency targets.
- ceilings: What no hardware can do: a rate beyond it is a fault of this program, never of its input.
- collectives: Time of one collective by itself, on links of stated bandwidth and latency: between sites,
  say.
- columns: What an equation takes and gives: one number, or a column of them.
- communication: Time that accelerators spend sending to each other while training.
- demand: How much compute a quantity of work asks for: jobs of unlike size, data to go through, agents,
  growth.
- diffusion: Image and video generation: an operator mix repeated for a number of denoising steps.
- disaggregation: Prompts read by some replicas and answers written by others: how many of each.
- engine: What a step of a serving engine takes: matrices, attention, exchanges and host, at measured
  rates.
- experts: Mixture-of-experts layers: what every token multiplies, what the memory holds, how wide experts
  are.
- hardware: Figures of a data sheet that are easily taken for others: sparse peaks, two-way links,
  formats.
- ingestion: Feeding data to trainers: preprocessing workers, drives, and the fast tier in front of them.
- layouts: Every way to lay one model over a number of accelerators, and the fastest that fits in memory.
- memory: Memory of one accelerator: weights, optimizer and activations in training, weights and cache in
  serving.
- mix: Requests of unequal length on one replica: latencies and service times of a whole mix.
- power: Electrical power from utilisation, in place of rated power times hours.
- prefill_queue: What a prompt waits for inside a replica: the step in progress, and prompts of others read
  with it.
- quantiles: Quantiles of what users of a replica see, by the closed form of its queue.
- queueing: Waiting: one replica that slows down as it fills, several equal servers, and spare replicas.
- recommendation: Recommendation models: time of a training step and of an inference batch, memory,
  ranking stages.
- remembered: Results of costly pure functions, kept by the values of their arguments for plans that are
  made again.
- replica: One replica under a mix of requests: state at a load, share of first tokens in time, largest
  load.
- representatives: Few members that stand for many, each with its weight.
- rounding: Things that are counted whole: devices, nodes, replicas, workers, drives.
- scaling: How the loss of a model falls with its size, its data or its compute, and what a wanted loss
  then takes.
- serving: Speed of a replica that serves a language model with continuous batching and chunked prefill.
- simulation: Replicas played step by step: what each request of a drawn stream waits for, next to the
  closed form.
- stages: How late answers are that several stages give one after the other, each with waits of its own.
- state_space: Layers that keep a state of constant size in place of keys and values, and hybrids with
  attention.
- step_table: The law of a step made quick to ask: tables of what engines take, and steps of many of
  them at once.
- throughput: From step time to rates, hours, utilisation and spread, and the one-point calibration.
- timeline: What an accelerator did when, from the intervals of its kernels: busy, communicating, waiting.
- token_times: What a request waits for between its tokens: steps next to others, and prompts that are
  read meanwhile.
- training: Time of one training step of a transformer on a given layout, term by term.
- training_layer: One layer of a training step on one rank, and the time of a forward pass.
- users: The way between users and a site, which an answer has to come too.
- vision: Vision transformers: images as sequences of patches that all attend to each other.
"""
