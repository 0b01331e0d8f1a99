"""Workers: what they say, how they are stopped, and that none is left, however it or its parent ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from sizes import size

from planner.ui.workers import Seen, registry, tasks
from planner.ui.workers.messages import line, message_of, work_key
from planner.ui.workers.registry import Limits, Registry

HERE = Path(__file__).parents[1]
PATIENCE_S = 60.0


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """A registry of the test's own, whose workers know the tasks of `worked`."""
    for name in ("count", "refuse", "fail", "dawdle", "add_up"):
        monkeypatch.setitem(tasks.TASKS, name, f"worked:{name}")
    monkeypatch.syspath_prepend(str(HERE))
    held = Registry()
    yield held
    for key in list(held.works):
        held.forget(key)


def until(true: Callable[[], bool]) -> None:
    """Wait for something that happens beside us."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def ended(works: Registry, key: str) -> Seen:
    until(lambda: (seen := works.seen(key)) is None or seen.ended)
    seen = works.seen(key)
    assert seen is not None
    return seen


def working(works: Registry, key: str) -> int:
    """The process of a piece of work, once it has said something."""
    until(lambda: (seen := works.seen(key)) is not None and bool(seen.text))
    process = works.works[key].process
    assert process is not None
    return process.pid


def is_gone(pid: int) -> bool:
    """Whether a process has ended, and nobody has to ask for its exit code any more."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_work_tells_its_steps_and_parts_and_its_answer(works: Registry) -> None:
    """Each of three numbers is one step and one part; what was printed is in neither; bytes arrive."""
    key = works.start("count", {"to": 3, "content": b"\xff" * 100_000})
    seen = ended(works, key)

    assert seen.state == "done"
    assert seen.text == "at 3"
    assert [step.incumbent for step in seen.trail] == [-1.0, -2.0, -3.0]
    assert [part["number"] for part in seen.parts] == [1, 2, 3]
    assert seen.result is not None
    assert (seen.result["best"], seen.result["content"]) == (3, 100_000)
    assert seen.result["process"] != os.getpid()


def test_who_stops_keeps_the_best(works: Registry) -> None:
    """Of a thousand numbers some were counted: the answer is the last one told, and not the thousandth."""
    key = works.start("count", {"to": 1000, "pause_s": 0.05})
    working(works, key)
    works.stop(key)
    works.stop(key)
    seen = ended(works, key)

    assert seen.state == "stopped"
    assert seen.result is not None
    assert seen.result["best"] == len(seen.parts) < 1000


def test_the_same_content_is_one_work(works: Registry) -> None:
    """Eight visitors who ask at once get one key and one process; other arguments are other work."""
    keys: list[str] = []
    ask = [threading.Thread(target=lambda: keys.append(works.start("count", {"to": 2}))) for _ in range(8)]
    for each in ask:
        each.start()
    for each in ask:
        each.join()

    assert set(keys) == {work_key("count", {"to": 2})}
    assert works.start("count", {"to": 1}) != keys[0]
    assert len(works.works) == 2
    done = ended(works, keys[0])
    works.start("count", {"to": 2})
    assert works.seen(keys[0]) == done, "what is done is not done again"


def test_so_many_at_once_and_the_others_wait(works: Registry) -> None:
    """Two places, three works: the third begins when one is done; one that waits is stopped without begin."""
    long = [works.start("count", {"to": 100_000, "pause_s": 0.05, "number": n}) for n in range(2)]
    third, fourth = (works.start("count", {"to": 1, "number": n}) for n in (3, 4))
    waiting = works.seen(third)
    works.stop(fourth)
    given_up = works.seen(fourth)
    working(works, long[0])
    works.stop(long[0])

    assert waiting is not None
    assert waiting.state == "waiting"
    assert given_up is not None
    assert (given_up.state, given_up.result) == ("stopped", None)
    assert ended(works, third).state == "done"
    assert works.works[long[1]].state == "working"


# Whose turn it is


def begun_by(works: Registry, visitor: str, task: str, **arguments: object) -> str:
    """The key of work that a visitor asks for."""
    works.visitor = lambda: visitor
    try:
        return works.start(task, {**arguments, "visitor": visitor})
    finally:
        works.visitor = registry.nobody


@pytest.mark.nightly
def test_work_that_takes_too_long_makes_room(works: Registry) -> None:
    """Two visitors hold both places with work without end: at its longest time it is ended, and told why."""
    works.limits = Limits(longest_s={"dawdle": 1.0})
    slow = [begun_by(works, visitor, "dawdle") for visitor in ("a", "b")]
    third = begun_by(works, "c", "count", to=1)
    waiting = works.seen(third)

    assert waiting is not None
    assert (waiting.state, waiting.place) == ("waiting", 1)
    assert ended(works, third).state == "done"
    for key in slow:
        seen = ended(works, key)
        assert seen.state == "failed"
        assert seen.error.startswith("It took longer than 1 s, which is the most")


@pytest.mark.nightly
def test_work_that_was_left_makes_room_for_who_waits(works: Registry) -> None:
    """Closed pages: with nobody waiting the work goes on, and ends soon after somebody else has come."""
    works.limits = Limits(longest_s={"dawdle": 600.0}, left_s=0.2)
    slow = [begun_by(works, visitor, "dawdle") for visitor in ("a", "b")]
    pids = [working(works, key) for key in slow]
    for visitor in ("a", "b"):
        works.leave(visitor)
    time.sleep(3 * registry.LOOK_EVERY_S)
    assert not any(map(is_gone, pids)), "nobody waits"
    third = begun_by(works, "c", "count", to=1)

    assert ended(works, third).state == "done"
    gave_way = [seen for key in slow if (seen := works.seen(key)) is not None and seen.ended]
    assert gave_way
    assert all(seen.error.startswith("Everybody who had its page open has left") for seen in gave_way)


def test_work_that_somebody_came_back_to_goes_on(works: Registry) -> None:
    """One of two who wait for the same answer leaves, and the other; a third looks at it again."""
    key = begun_by(works, "a", "count", to=0)
    work = works.works[key]
    works.visitor = lambda: "b"
    works.seen(key)
    works.leave("a")
    one_left = work.left
    works.leave("b")
    both_left = work.left
    works.visitor = lambda: "c"
    works.seen(key)

    assert one_left is None
    assert both_left is not None
    assert work.left is None


@pytest.mark.nightly
def test_a_visitor_gives_the_second_place_back_to_who_has_none(works: Registry) -> None:
    """Alone a visitor has both; for another the later work waits again, and is done from its begin after."""
    first = begun_by(works, "a", "count", to=100_000, pause_s=0.05)
    second = begun_by(works, "a", "count", to=3, pause_s=0.3)
    pid = working(works, second)
    third = begun_by(works, "b", "count", to=1)
    waiting = works.seen(second)

    assert waiting is not None
    assert (waiting.state, waiting.parts, waiting.place) == ("waiting", (), 1)
    assert works.works[third].state == "working"
    until(lambda: is_gone(pid))
    assert ended(works, third).state == "done"
    assert [part["number"] for part in ended(works, second).parts] == [1, 2, 3]
    assert works.works[first].state == "working"


def test_turns_go_round_among_visitors(works: Registry) -> None:
    """Of one who asks four times and had a turn, and of two others, the two come first, as they asked."""
    works.most_at_once = 0
    works.last_turns["a"] = 1.0
    many = [begun_by(works, "a", "count", to=number) for number in range(4)]
    others = [begun_by(works, visitor, "count", to=1) for visitor in ("b", "c")]

    seen = [works.seen(key) for key in (*others, *many)]
    assert [one.place for one in seen if one is not None] == [1, 2, 3, 4, 5, 6]


def test_a_search_that_takes_too_long_keeps_the_best(works: Registry) -> None:
    works.limits = Limits(search_s=0.5)
    seen = ended(works, works.start("count", {"to": 100_000, "pause_s": 0.05}))

    assert seen.state == "stopped"
    assert seen.result is not None
    assert seen.result["best"] == len(seen.parts)


def test_what_does_not_stop_is_ended(works: Registry) -> None:
    """A search has a while to bring in what it has; what has nothing to keep is ended at once."""
    works.limits = Limits(longest_s={}, stop_s=0.2)
    search = works.start("dawdle", {})
    working(works, search)
    works.stop(search)
    deaf = ended(works, search)
    works.limits = Limits(longest_s={"dawdle": 600.0})
    quick = works.start("dawdle", {"number": 2})
    pid = working(works, quick)
    works.stop(quick)

    assert (deaf.state, deaf.error[:32]) == ("failed", "It did not end on request. Start")
    assert ended(works, quick).state == "stopped"
    assert is_gone(pid)


def test_what_still_says_how_far_it_is_may_finish(works: Registry) -> None:
    """The plan that a stopped search has found is added up in peace, however busy the machine."""
    works.limits = Limits(longest_s={}, stop_s=0.6)
    key = works.start("add_up", {})
    until(lambda: works.works[key].has_task)
    works.stop(key)
    seen = ended(works, key)

    assert (seen.state, seen.result) == ("stopped", {"sum": 4})


def test_a_wrong_input_is_told_in_its_own_words_and_a_fault_as_one(
    works: Registry, capfd: pytest.CaptureFixture[str]
) -> None:
    """The reader mends the first; the second is ours, named for the report and told whole in the log."""
    wrong = ended(works, works.start("refuse", {}))
    fault = ended(works, works.start("fail", {}))

    assert (wrong.state, wrong.error) == ("failed", "mine.toml: horizon: missing")
    assert fault.error == "This is a fault of the program: RuntimeError: a wire is loose"
    assert "Traceback" in capfd.readouterr().err


def test_a_worker_that_is_killed_says_so_and_leaves_nothing(works: Registry) -> None:
    """Signal 9 in mid-work, time after time: each is told as that, the next begins anew, none is left."""
    pids = []
    for number in range(size(5, nightly=20)):
        key = works.start("count", {"to": 1000, "pause_s": 0.02, "number": number % 2})
        pids.append(working(works, key))
        os.kill(pids[-1], signal.SIGKILL)
        seen = ended(works, key)
        assert seen.state == "died"
        assert seen.error == (
            "The solver ended unexpectedly (signal 9). Nothing of the scenario was lost: solve again."
        )
        works.forget(key)

    until(lambda: all(map(is_gone, pids)))


def test_who_is_forgotten_ends_at_once(works: Registry) -> None:
    key = works.start("count", {"to": 1000, "pause_s": 1.0})
    pid = working(works, key)
    works.forget(key)

    assert works.seen(key) is None
    until(lambda: is_gone(pid))


PARENT = """
import sys, time
sys.path[:0] = sys.argv[1:]
from planner.ui.workers import registry, tasks, seen, start
tasks.TASKS["count"] = "worked:count"
key = start("count", to=1000, pause_s=0.05)
while not seen(key).text:
    time.sleep(0.01)
print(registry._HERE.works[key].process.pid, flush=True)
time.sleep(600)
"""


def test_workers_end_with_a_parent_that_was_killed() -> None:
    """A parent that signal 9 ends cannot tell its workers: they see that their orders have ended."""
    command = [sys.executable, "-c", PARENT, str(HERE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)
        parent.kill()

    until(lambda: is_gone(pid))


def test_old_answers_are_let_go(works: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one, the second answer drives out the first."""
    monkeypatch.setattr(registry, "MOST_KEPT", 1)
    first, second = (works.start("count", {"to": 1, "number": number}) for number in (1, 2))
    ended(works, first), ended(works, second)
    works.start("refuse", {})

    assert len([key for key in (first, second) if works.seen(key) is not None]) == 1


def test_a_long_trail_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5 steps with room for 4, every second one is kept, from the first on; then it grows again."""
    monkeypatch.setattr(registry, "MOST_STEPS", 4)
    work = registry._Work("key", "count", "worked:count", {})
    for number in range(6):
        work.take({"step": [float(number), None, None, None]})

    assert [step.elapsed_s for step in work.trail] == [0.0, 2.0, 4.0, 5.0]


def test_messages_are_plain_data_and_bytes() -> None:
    """What goes over comes back; an object of some class is refused before any process is begun."""
    message = {"files": {"a.csv": b"\x00\xff"}, "text": "two\nlines", "none": None}

    assert line(message).count(b"\n") == 1
    assert message_of(line(message)) == message
    with pytest.raises(TypeError, match="plain data and bytes, not PurePosixPath"):
        work_key("count", {"path": PurePosixPath("x")})
