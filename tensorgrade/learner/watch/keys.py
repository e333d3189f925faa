"""The keys that a terminal reports, without waiting for them."""

import os
import select
import sys
import time


class Keys:
    """The terminal's keys, as a context: `next(seconds)` returns a key, or None after that time."""

    def __enter__(self) -> "Keys":
        self.tty = sys.stdin is not None and sys.stdin.isatty()
        self.before = None
        if self.tty and sys.platform != "win32":
            import termios
            import tty

            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    def next(self, seconds: float = 0.0) -> str | None:
        """Return the next key, waiting at most this many seconds."""
        if not self.tty:
            return None
        if sys.platform == "win32":
            return from_console(seconds)
        return self.from_terminal(seconds)

    def from_terminal(self, seconds: float) -> str | None:
        """Read a key on Linux and macOS. A closed terminal counts as `q`."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


# A type checker reads only the branch for the system that it runs on.
if sys.platform == "win32":
    import msvcrt

    def from_console(seconds: float) -> str | None:
        """Read a key from a Windows console."""
        deadline = time.monotonic() + seconds
        while not msvcrt.kbhit():
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.01)
        return msvcrt.getwch()
