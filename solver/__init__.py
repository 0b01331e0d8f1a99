"""The integer program: pools, options and limits go in; a checked answer, or why there is none, comes out."""
