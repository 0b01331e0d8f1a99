"""Traced numbers: where each comes from, its unit, its range."""
