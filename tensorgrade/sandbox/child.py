"""One child of a warm process: messages to it and back, with bounds on time and size."""

import socket
import time

from ..runner.messages import LENGTH


class TimedOut(Exception):
    """No complete reply within the time allowed."""


class Ended(Exception):
    """The stream broke: the child is gone, or sent what no reply may be."""


class Child:
    """A process that runs one learner's code. Whatever it sends is bytes until it is checked."""

    def __init__(self, warm, number: int, stream: socket.socket):
        self.warm, self.number, self.stream = warm, number, stream

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        self.stream.settimeout(seconds)
        try:
            self.stream.sendall(LENGTH.pack(len(message)) + message)
        except TimeoutError:
            raise TimedOut from None
        except OSError:
            raise Ended from None

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """The next message. Raises TimedOut, or Ended (also for a message that is too large)."""
        deadline = time.monotonic() + seconds
        (length,) = LENGTH.unpack(self.exactly(LENGTH.size, deadline))
        if length > most_bytes:
            raise Ended
        return self.exactly(length, deadline)

    def exactly(self, count: int, deadline: float) -> bytes:
        """So many bytes, before the deadline, however slowly they trickle in."""
        pieces, missing = [], count
        while missing:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            self.stream.settimeout(left)
            try:
                piece = self.stream.recv(min(missing, 1 << 20))
            except TimeoutError:
                raise TimedOut from None
            except OSError:
                raise Ended from None
            if not piece:
                raise Ended
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def close(self) -> int:
        """End the process; returns its exit status."""
        self.stream.close()
        return self.warm.kill(self.number)
