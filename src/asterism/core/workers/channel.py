"""The private channel between a process and its worker: whole messages over a stream socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Self

#: What stands before each message: its length in bytes.
_LENGTH = struct.Struct("!Q")

#: Messages up to this size are sent with their length in one call of the system.
_SMALL = 1 << 14

Bytes = bytes | memoryview


class Channel:
    """One end of a channel.

    Args:
        stream: a connected stream socket, which belongs to the channel from now on.
        wait: called before the channel waits for the other end, with whether it waits to receive;
            it returns as soon as the socket is ready. None: the channel itself waits for ever.
    """

    def __init__(self, stream: socket.socket, wait: Callable[[bool], None] | None = None) -> None:
        self._stream = stream
        self._wait = wait
        stream.setblocking(wait is None)

    def send(self, *messages: Bytes) -> None:
        """Send messages.

        Raises:
            OSError: the other end is closed.
        """
        for message in messages:
            length = _LENGTH.pack(len(message))
            if len(message) <= _SMALL:
                self._send(memoryview(length + message))
            else:
                self._send(memoryview(length))
                self._send(memoryview(message))

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
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, left: memoryview) -> None:
        while left:
            try:
                left = left[self._stream.send(left) :]
            except BlockingIOError:
                assert self._wait is not None
                self._wait(False)

    def _receive(self, length: int) -> memoryview:
        whole = memoryview(bytearray(length))
        left = whole
        while left:
            if self._wait is not None:
                self._wait(True)
            try:
                count = self._stream.recv_into(left)
            except BlockingIOError:
                continue
            if not count:
                raise EOFError
            left = left[count:]
        return whole.toreadonly()
