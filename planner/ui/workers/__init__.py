"""Long work outside the app: each piece in a process of its own, which can be watched, stopped and killed.

The registry belongs to the process, not to a visitor: who closes the page and opens it again finds the work
where it was, and two visitors who ask for the same wait for one answer.
"""

from planner.ui.workers.messages import ENDED, Seen, Step, Tell
from planner.ui.workers.registry import ask_as, forget, leave, seen, start, stop

__all__ = ["ENDED", "Seen", "Step", "Tell", "ask_as", "forget", "leave", "seen", "start", "stop"]
