"""The reader of a child's stream: whatever comes in whatever pieces, it ends in time."""

import socket
import struct
import threading
import time

import pytest
from hypothesis import given, settings
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
    """A child's trusted end, with these pieces written to the other one."""
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
    before = time.monotonic()
    with pytest.raises(Ended):
        child.receive(60, MOST)
    assert time.monotonic() - before < 1
    theirs.close()
    child.close()


@pytest.mark.slow
@settings(max_examples=5)
@given(st.binary(max_size=20))
def test_silence_ends_in_time(start):
    """A child that stops in the middle is given up on when its time is over."""
    child, theirs = child_that_sends([LENGTH.pack(100) + start], closes=False)
    before = time.monotonic()
    with pytest.raises(TimedOut):
        child.receive(0.1, MOST)
    assert time.monotonic() - before < 1
    theirs.close()
    child.close()


@pytest.mark.slow
def test_trickle_ends_in_time():
    """A byte now and then does not prolong the time."""
    child, theirs = child_that_sends([LENGTH.pack(100)], closes=False)

    def trickle():
        for _ in range(99):
            try:
                theirs.sendall(b"x")
            except OSError:
                return
            time.sleep(0.05)

    thread = threading.Thread(target=trickle)
    thread.start()
    with pytest.raises(TimedOut):
        child.receive(0.3, MOST)
    child.close()
    thread.join()
    theirs.close()


@pytest.mark.slow
def test_child_that_reads_nothing():
    """A request that is never read also times out."""
    child, theirs = child_that_sends([], closes=False)
    with pytest.raises(TimedOut):
        child.send(bytes(64 << 20), 0.2)
    theirs.close()
    child.close()


@pytest.mark.slow
def test_what_one_child_takes_is_gone_for_the_next():
    """Children of one submission share its seconds; after that, no more waiting."""
    budget = Budget(0.3)
    waits = []
    for _ in range(3):
        child, theirs = child_that_sends([], closes=False)
        child.budget = budget
        before = time.monotonic()
        with pytest.raises(TimedOut):
            child.receive(0.2, MOST)
        waits.append(time.monotonic() - before)
        theirs.close()
        child.close()
    assert budget.used_up and waits[0] >= 0.2 and waits[1] < 0.2 and waits[2] < 0.1


@pytest.mark.slow
def test_only_waiting_is_paid_for():
    """A child that answers at once keeps its seconds, however long this side thinks."""
    child, _ = child_that_sends([LENGTH.pack(1) + b"x"])
    child.budget = Budget(0.2)
    time.sleep(0.3)
    assert child.receive(1, MOST) == b"x" and not child.budget.used_up
    child.close()
