"""From candidates to the numbers that the program weighs: straight lines of `derive`, one quantity each.

Read top to bottom, a file here is the method section of a paper: `nodes` what owning a node costs and emits,
`training` what a run takes, `serving` what a replica carries, `work` what a pool gets done.
"""
