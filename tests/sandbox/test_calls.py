"""The filter on system calls, run instruction by instruction as the kernel does."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.sandbox import lockdown
from tensorgrade.sandbox.lockdown import filter_of_calls

COLUMNS = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
ALLOW, END = 0x7FFF0000, 0x80000000
REFUSE, MISSING = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


def decision(code: bytes, abi: int, number: int, *arguments: int) -> int:
    """Return what a filter answers to a call."""
    words = [*arguments, *[0] * 6][:6]
    shown = struct.pack("<IIQ6Q", number % 2**32, abi, 0, *(word % 2**64 for word in words))
    program = [*struct.iter_unpack("<HBBI", code)]
    at = loaded = 0
    for _ in program:  # a filter cannot jump back
        operation, if_true, if_false, value = program[at]
        at += 1
        if operation == 0x06:
            return value
        if operation == 0x20:
            (loaded,) = struct.unpack_from("<I", shown, value)
        else:
            holds = {0x15: loaded == value, 0x25: loaded > value}
            at += if_true if holds[operation] else if_false
    raise AssertionError("it does not end")


def words_of(table: str, column: int) -> dict[str, int]:
    """Return a table's numbers by name; calls that the processor lacks are left out."""
    words = table.split()
    columns = zip(words[::3], words[column::3], strict=True)
    return {name: int(number) for name, number in columns if number != "-"}


@pytest.mark.parametrize("machine", COLUMNS)
def test_every_number_is_answered_as_the_table_says(machine):
    """A call with arguments of 0; all that the table does not name is refused or missing.

    A call of another ABI ends the process: 32-bit programs, x32, negative numbers.
    """
    abi, column = COLUMNS[machine]
    code = filter_of_calls(machine)
    allowed = set(words_of(lockdown.ALLOWED, column).values())
    missing = set(words_of(lockdown.MISSING, column).values())
    for call, tests in lockdown.CHECKED.items():
        if all(0 in known for known in tests.values()):
            allowed |= set(words_of(call, column).values())
    assert len(allowed) > 60 and not allowed & missing
    for number in range(1000):
        expected = ALLOW if number in allowed else REFUSE
        if number in missing or number > 449:
            expected = MISSING
        assert decision(code, abi, number) == expected, number
    read = words_of(lockdown.ALLOWED, column)["read"]
    assert decision(code, 0x40000003, read) == END
    for number in (0x40000000 | read, 0x40000000, 2**31, -1):
        assert decision(code, abi, number) == END


@pytest.mark.parametrize("machine", COLUMNS)
@given(value=st.integers(0, 2**64 - 1), upper=st.integers(0, 2**32 - 1))
def test_arguments_are_compared_in_the_bits_that_the_kernel_reads(machine, value, upper):
    abi, column = COLUMNS[machine]
    code = filter_of_calls(machine)
    for call, tests in lockdown.CHECKED.items():
        (number,) = words_of(call, column).values()
        for place in {word // 2 for word in tests}:
            known, whole = tests[2 * place], 2 * place + 1 in tests
            for tried in (value, *known, *(one | upper << 32 for one in known)):
                arguments = [min(tests.get(2 * at, {0})) for at in range(6)]
                arguments[place] = tried
                seen = tried if whole else tried % 2**32
                expected = ALLOW if seen in known else REFUSE
                assert decision(code, abi, number, *arguments) == expected, (call, tried)


@pytest.mark.parametrize("machine", COLUMNS)
def test_files_are_opened_for_reading_only_where_no_list_holds_a_child_back(machine):
    abi, column = COLUMNS[machine]
    ordinary, reading = filter_of_calls(machine), filter_of_calls(machine, read_only=True)
    for call, words in lockdown.OPENS.items():
        for number in words_of(call, column).values():
            before = [0] * (min(words) // 2)
            for flags in (0, 0o200000, 0o2000000, 0o4000, 0o2204000):  # read, also a folder
                assert decision(reading, abi, number, *before, flags) == ALLOW
            for flags in (1, 2, 0o100, 0o1000, 0o2000, 0o20000000 | 0o200000, 0o101):
                assert decision(reading, abi, number, *before, flags) == REFUSE
                assert decision(ordinary, abi, number, *before, flags) == ALLOW


def test_another_processor_has_no_filter():
    with pytest.raises(OSError, match="riscv64"):
        filter_of_calls("riscv64")
