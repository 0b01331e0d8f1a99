"""Defending a plan: what its limits are worth, what else would do, what it trades, where it would change."""
