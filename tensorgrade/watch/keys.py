"""Single keys from the terminal, without Enter; none where there is no terminal."""

import os
import select
import sys
import time


class Keys:
    """Use as a context; `next(seconds)` gives a key, or None after so many seconds."""

    def __enter__(self):
        self.tty = sys.stdin is not None and sys.stdin.isatty()
        self.before = None
        if self.tty and os.name == "posix":
            import termios
            import tty

            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception):
        if self.before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    def next(self, seconds: float) -> str | None:
        """The next key, waiting so long for it at most."""
        if not self.tty:
            time.sleep(seconds)
            return None
        return self.from_terminal(seconds) if os.name == "posix" else self.from_console(seconds)

    def from_terminal(self, seconds: float) -> str | None:
        """On Linux and macOS. A closed terminal is a `q`."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"

    def from_console(self, seconds: float) -> str | None:
        """On Windows."""
        import msvcrt

        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if msvcrt.kbhit():
                return msvcrt.getwch()
            time.sleep(0.01)
        return None
