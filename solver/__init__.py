"""The integer program: groups, options, limits go in; a checked answer, or why there is none, comes out."""
