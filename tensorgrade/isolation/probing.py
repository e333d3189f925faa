"""Find the layers that this machine supports, by trying each of them."""

import json
import subprocess
from functools import cache

from ..course import Limits
from .child_configuration import configuration
from .command import ENVIRONMENT, runner_command, sandboxed_command
from .seccomp import NoFilter, call_filter

NEEDS_BUBBLEWRAP = frozenset({"pid", "mount", "ipc", "net"})
EVERYWHERE = frozenset({"parent", "privileges", "landlock", "seccomp", "uid"})
LONGEST_TRY = 30


@cache
def probe() -> dict[str, str]:
    """Return for each layer "" if it works, otherwise the error."""
    return probe_outside() | probe_inside()


def probe_outside() -> dict[str, str]:
    """Try the layers that need no sandbox around them."""
    try:
        call_filter()
        layers, trouble = EVERYWHERE, {}
    except NoFilter as error:
        layers, trouble = EVERYWHERE - {"seccomp"}, {"seccomp": str(error)}
    order = configuration(Limits(), layers)
    return tried(runner_command("probe", order), layers) | trouble


def probe_inside() -> dict[str, str]:
    """Try bubblewrap, and the layers that it enables."""
    layers = NEEDS_BUBBLEWRAP | {"bubblewrap"}
    try:
        command = sandboxed_command("probe", configuration(Limits(), layers))
    except FileNotFoundError as error:
        return dict.fromkeys(layers, str(error))
    return tried(command, layers)


def tried(command: list[str], layers: frozenset[str]) -> dict[str, str]:
    """Return the results printed by a probe: for each layer "" or an error.

    If the probe itself fails, its error is the result for all layers.
    """
    try:
        done = subprocess.run(
            command,
            env=ENVIRONMENT,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=LONGEST_TRY,
            errors="replace",
        )
        return dict.fromkeys(layers, "") | json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        said = getattr(error, "stderr", None) or str(error)
        if not isinstance(error, (OSError, subprocess.TimeoutExpired)):
            said = done.stderr or "it printed nothing"
        return dict.fromkeys(layers, last_line(said))


def last_line(text: object) -> str:
    """Return the last line of a program's output, with a limited length."""
    lines = [line for line in str(text).splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no reason was given"
