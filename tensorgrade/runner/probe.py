"""Try each layer of the lock-down in a separate process, because only a trial shows if it works.

It prints, for example:

    {"mount": "", "landlock": "system call 444: Function not implemented", …}
"""

import json
import os
from collections.abc import Callable

from .lockdown import STEPS, own_user
from .namespaces import fork_as_first_process
from .own_user import Users


def main(config: dict) -> None:
    """Print, as JSON, an empty text or an error for each layer in `config["layers"]`."""
    steps = dict(STEPS) | {"uid": another_user}
    tries = {name: step for name, step in steps.items() if name in config["layers"]}
    found = {name: outcome(step, config) for name, step in tries.items()}
    if "pid" in config["layers"]:
        found["pid"] = outcome(process_namespace, config)
    print(json.dumps(found))


def process_namespace(config: dict) -> None:
    """Fork a child into its own PID namespace, in which it is process 1."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    pid = fork_as_first_process(own)
    if pid == 0:
        os._exit(0 if os.getpid() == 1 else 1)
    if os.waitpid(pid, 0)[1]:
        raise OSError("the child is not process 1")


def another_user(config: dict) -> None:
    """Become a separate user, and check that it can read the files of Python and torch."""
    if os.geteuid() != 0:
        raise OSError("only root can give each child a user of its own")
    user = Users().take()
    own_user(config | {"user": user.number})
    for path in config["readable"]:
        if not os.access(path, os.R_OK):
            raise OSError(f"another user than root cannot read {path}")


def outcome(step: Callable[[dict], object], config: dict) -> str:
    """Return the outcome of a step in a forked process: "" if it worked, otherwise the error."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, error_of(step, config).encode()[:500])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    return text.removeprefix("ok") if text else f"the process ended with status {status}"


def error_of(step: Callable[[dict], object], config: dict) -> str:
    """Return `ok` if a step works, otherwise the text of its error; never an empty text."""
    try:
        step(config)
        return "ok"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
