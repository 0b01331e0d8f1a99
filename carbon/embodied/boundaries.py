"""Which parts a footprint holds. Figures of different boundaries are not the same quantity.

The values are the tags that facts carry as `embodied=<tag>`.
"""

from __future__ import annotations

from enum import StrEnum


class Part(StrEnum):
    """What a footprint may or may not hold."""

    DIE = "die"
    PACKAGE = "package"
    CARD = "memory, board and cooling"
    SWITCHES = "switch chips of the baseboard"
    HOST = "host"
    STORAGE = "storage"
    NETWORK = "network"
    BUILDING = "building"
    TRANSPORT = "transport"
    END_OF_LIFE = "end of life"


class Boundary(StrEnum):
    """Where a footprint draws its line."""

    DIE = "die"
    PACKAGE = "package"
    CARD = "card"
    BASEBOARD_SHARE = "baseboard-share"
    CARD_LIFE = "card-life"
    HOST = "host"
    CHIP_HOST = "chip-host"
    CHIP_HOST_BUILDING = "chip-host-building"
    SERVER = "server"
    SERVER_NETWORK = "server-network"
    SERVER_NETWORK_BUILDING = "server-network-building"
    WHOLE_LIFE = "whole-life"
    STORAGE = "storage"
    NETWORK = "network"
    BUILDING = "building"
    TRANSPORT = "transport"
    END_OF_LIFE = "end-of-life"

    @property
    def parts(self) -> frozenset[Part]:
        """What stands inside this line."""
        return _PARTS[self]

    def missing_in(self, narrower: Boundary) -> frozenset[Part]:
        """Parts that this boundary holds and `narrower` does not: the first step of any comparison."""
        return self.parts - narrower.parts

    def joined(self, *others: Boundary) -> Boundary:
        """The boundary of a sum of figures.

        Raises:
            ValueError: two of them hold the same part, or no boundary has a name for the sum.
        """
        held = self.parts
        for other in others:
            twice = held & other.parts
            if twice:
                raise ValueError(
                    f"{self} and {other} both hold {', '.join(sorted(twice))}: it would count twice"
                )
            held |= other.parts
        for boundary, parts in _PARTS.items():
            if parts == held:
                return boundary
        raise ValueError(f"no boundary is named for {' + '.join((self, *others))}")


_BOARD = frozenset({Part.DIE, Part.PACKAGE, Part.CARD, Part.SWITCHES})
_SERVER = _BOARD | {Part.HOST}
_PARTS = {
    Boundary.DIE: frozenset({Part.DIE}),
    Boundary.PACKAGE: frozenset({Part.DIE, Part.PACKAGE}),
    Boundary.CARD: frozenset({Part.DIE, Part.PACKAGE, Part.CARD}),
    Boundary.BASEBOARD_SHARE: _BOARD,
    Boundary.CARD_LIFE: frozenset({Part.DIE, Part.PACKAGE, Part.CARD, Part.TRANSPORT, Part.END_OF_LIFE}),
    Boundary.HOST: frozenset({Part.HOST}),
    Boundary.SERVER: _SERVER,
    Boundary.CHIP_HOST: _SERVER,
    Boundary.CHIP_HOST_BUILDING: _SERVER | {Part.TRANSPORT, Part.BUILDING},
    Boundary.SERVER_NETWORK: _SERVER | {Part.NETWORK},
    Boundary.SERVER_NETWORK_BUILDING: _SERVER | {Part.NETWORK, Part.BUILDING},
    Boundary.WHOLE_LIFE: _SERVER | {Part.NETWORK, Part.BUILDING, Part.TRANSPORT, Part.END_OF_LIFE},
    Boundary.STORAGE: frozenset({Part.STORAGE}),
    Boundary.NETWORK: frozenset({Part.NETWORK}),
    Boundary.BUILDING: frozenset({Part.BUILDING}),
    Boundary.TRANSPORT: frozenset({Part.TRANSPORT}),
    Boundary.END_OF_LIFE: frozenset({Part.END_OF_LIFE}),
}
