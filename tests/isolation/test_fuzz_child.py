"""The reader of a child's stream: whatever comes in whatever pieces, it ends in time."""

import socket
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.isolation.warm_process import Budget, Child, Ended, TimedOut

LENGTH = struct.Struct("<Q")
MOST = 1000


class Nobody:
    """Stands for the warm process: there is no child to end."""

    def end(self, number: int) -> None:
        pass

    def kill(self, number: int) -> int:
        return -9


def child_that_sends(pieces: list[bytes], closes: bool = True) -> tuple[Child, socket.socket]:
    """Return a child's trusted end, with these pieces written to the other one."""
    ours, theirs = socket.socketpair()
    for piece in pieces:
        theirs.sendall(piece)
    if closes:
        theirs.close()
    return Child(Nobody(), 1, ours), theirs


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_any_pieces(pieces):
    """A complete message within the bound is read; anything else is Ended."""
    child, _ = child_that_sends(pieces)
    content = b"".join(pieces)
    try:
        message = child.receive(1, MOST)
        (length,) = LENGTH.unpack_from(content)
        assert length <= MOST and message == content[8 : 8 + length]
    except Ended:
        complete = len(content) >= 8 and LENGTH.unpack_from(content)[0] <= len(content) - 8
        assert not complete or LENGTH.unpack_from(content)[0] > MOST
    finally:
        child.close()


@given(st.binary(max_size=300), st.integers(1, 40))
def test_message_in_any_pieces(body, step):
    """How a message is cut into pieces makes no difference."""
    whole = LENGTH.pack(len(body)) + body
    child, _ = child_that_sends([whole[i : i + step] for i in range(0, len(whole), step)])
    assert child.receive(1, MOST) == body
    child.close()


@given(st.integers(MOST + 1, (1 << 64) - 1))
def test_too_long_is_refused_at_once(length):
    """A length over the bound ends the exchange before a byte of it is read or kept."""
    child, theirs = child_that_sends([LENGTH.pack(length)], closes=False)
    with pytest.raises(Ended):
        child.receive(60, MOST)
    theirs.close()
    child.close()


def trickle(theirs: socket.socket) -> None:
    """Send a byte now and then."""
    for _ in range(99):
        try:
            theirs.sendall(b"x")
        except OSError:
            return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("does", ["nothing", "sends slowly", "reads nothing"])
def test_a_child_that_stops_is_given_up_in_time(does):
    child, theirs = child_that_sends([LENGTH.pack(100) + b"begun"], closes=False)
    thread = threading.Thread(target=trickle, args=(theirs,))
    if does == "sends slowly":
        thread.start()
    with pytest.raises(TimedOut):
        child.send(bytes(64 << 20), 0.2) if does == "reads nothing" else child.receive(0.3, MOST)
    child.close()
    if does == "sends slowly":
        thread.join()
    theirs.close()


@pytest.mark.slow
def test_children_of_one_submission_share_its_seconds():
    """After that there is no more waiting; only waiting is paid for."""
    budget = Budget(0.3)
    child, _ = child_that_sends([LENGTH.pack(1) + b"x"])
    child.budget = budget
    time.sleep(0.4)
    assert child.receive(60, MOST) == b"x" and not budget.used_up
    child.close()
    begun = time.monotonic()
    for _ in range(3):
        child, theirs = child_that_sends([], closes=False)
        child.budget = budget
        with pytest.raises(TimedOut):
            child.receive(60, MOST)
        theirs.close()
        child.close()
    assert budget.used_up and time.monotonic() - begun < 60
