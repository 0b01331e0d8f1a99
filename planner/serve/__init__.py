"""The door of other programs: the questions of Python over HTTP, each answered by a process of its own."""

from planner.serve.http import api, serve

__all__ = ["api", "serve"]
