"""The private channel between a process and its worker: whole messages over a stream socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Self

#: What stands before each message: its length in bytes.
_LENGTH = struct.Struct("!Q")

#: Messages that have no more bytes together are sent by one call of the system.
_SMALL = 1 << 16

Bytes = bytes | memoryview


class Channel:
    """One end of a channel.

    Args:
        stream: a connected stream socket, which belongs to the channel from now on.
        wait: called where the channel has to wait for the other end, with whether it waits to
            receive; it returns when the socket is ready. None: the channel waits for ever.

    Attributes:
        stream: the socket.
    """

    def __init__(self, stream: socket.socket, wait: Callable[[bool], None] | None = None) -> None:
        self.stream = stream
        self._wait = wait
        stream.setblocking(wait is None)

    def send(self, *messages: Bytes) -> None:
        """Send messages.

        Raises:
            OSError: the other end is closed.
        """
        parts = [part for m in messages for part in (_LENGTH.pack(len(m)), m)]
        if sum(map(len, parts)) <= _SMALL:
            parts = [b"".join(parts)]
        for part in parts:
            self._send(memoryview(part))

    def receive(self) -> memoryview:
        """The next message, read-only.

        Raises:
            EOFError: the other end is closed.
            OSError: it was closed before it had read everything.
        """
        (length,) = _LENGTH.unpack(self._receive(_LENGTH.size))
        return self._receive(length)

    def requests(self) -> Iterator[memoryview]:
        """Messages until the other end is closed."""
        while True:
            try:
                message = self.receive()
            except (EOFError, ConnectionResetError):
                return
            yield message

    def close(self) -> None:
        """Close this end."""
        self.stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, left: memoryview) -> None:
        while left:
            try:
                left = left[self.stream.send(left) :]
            except BlockingIOError:
                assert self._wait is not None
                self._wait(False)

    def _receive(self, length: int) -> memoryview:
        whole = memoryview(bytearray(length))
        left = whole
        while left:
            try:
                count = self.stream.recv_into(left)
            except BlockingIOError:
                assert self._wait is not None
                self._wait(True)
                continue
            if not count:
                raise EOFError
            left = left[count:]
        return whole.toreadonly()
