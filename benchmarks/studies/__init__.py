"""Studies: programs that make the figures of the documentation."""
