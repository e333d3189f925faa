"""Gives up what a process may do beyond an ordinary one, for good."""

import struct

from .system import LIBC, checked, prctl

DROP_BOUNDING, NO_NEW_PRIVILEGES, AMBIENT, CLEAR_ALL = 24, 38, 47, 4
CAPABILITIES_VERSION_3 = 0x20080522
MOST_CAPABILITIES = 64


def give_up_privileges(config: dict) -> None:
    """No capabilities, none to be gained by running a program, no set-user-id programs.

    The bounding set can only be dropped by a process that may; an ordinary one has no use of it.
    """
    for number in range(MOST_CAPABILITIES):
        LIBC.prctl(DROP_BOUNDING, number, 0, 0, 0)
    header, nothing = struct.pack("Ii", CAPABILITIES_VERSION_3, 0), bytes(24)
    checked(LIBC.capset(header, nothing), "capset")
    prctl(AMBIENT, CLEAR_ALL)
    prctl(NO_NEW_PRIVILEGES, 1)
