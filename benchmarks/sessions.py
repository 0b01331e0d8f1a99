"""Visitors of the app without a browser: what a page sends them, and how long it takes to come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

PATIENCE_S = 240.0


@dataclass(slots=True)
class Run:
    """One run of a page: what came, as it came, and how long it took to come."""

    seconds: float
    contents: list[bytes] = field(repr=False)

    def elements(self) -> Iterator[Any]:
        """What the page drew, in the order in which it came."""
        for content in self.contents:
            message = ForwardMsg.FromString(content)
            if message.WhichOneof("type") == "delta" and message.delta.WhichOneof("type") == "new_element":
                yield message.delta.new_element

    def widget(self, kind: str, label: str) -> Any:
        """The widget of a kind with this label.

        Raises:
            LookupError: the page has none.
        """
        for element in self.elements():
            if element.WhichOneof("type") == kind and getattr(element, kind).label == label:
                return getattr(element, kind)
        raise LookupError(f"the page has no {kind} labelled {label!r}")

    def holds(self, marker: str) -> bool:
        """Whether a word was sent, whatever it was part of."""
        return any(marker.encode() in content for content in self.contents)

    def failed(self) -> bool:
        """Whether the script of the page came to an error that nobody caught."""
        return any(element.WhichOneof("type") == "exception" for element in self.elements())


class Session:
    """A visitor's connection to the app; one run at a time."""

    def __init__(self, url: str) -> None:
        address = url.replace("http://", "ws://")
        self._held = ExitStack()
        self._socket = self._held.enter_context(
            connect(
                f"{address}/_stcore/stream",
                subprotocols=[Subprotocol("streamlit")],
                origin=Origin(url),
                max_size=None,
            )
        )
        self._states: dict[str, WidgetState] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def run(self, page: str, query: str = "") -> Run:
        """Ask for a page and wait until its script has ended."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        message.rerun_script.widget_states.widgets.extend(self._states.values())
        began = time.perf_counter()
        self._socket.send(message.SerializeToString())
        contents: list[bytes] = []
        while True:
            content = self._socket.recv(timeout=PATIENCE_S)
            contents.append(content if isinstance(content, bytes) else content.encode())
            if ForwardMsg.FromString(contents[-1]).WhichOneof("type") == "script_finished":
                return Run(time.perf_counter() - began, contents)

    def set(self, widget: Any, put: Callable[[WidgetState], None]) -> None:
        """Give a widget a value, sent with the next run."""
        state = WidgetState(id=widget.id)
        put(state)
        self._states[widget.id] = state
