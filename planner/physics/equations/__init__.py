"""Published and plain equations that the options are worked out with."""
