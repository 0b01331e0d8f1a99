"""Facts of one's own: read from a folder or file next to the shipped ones, and written there."""
