"""The `run` messages of a folder of tests: packed once, sent to one attempt after another."""

from ..cases import Case
from ..runner.messages import pack


class Requests:
    """Messages by the very cases that they ask for. They hold inputs, and no answer."""

    def __init__(self):
        self.packed: dict[tuple[int, ...], tuple[list[Case], bytes]] = {}

    def of(self, cases: list[Case]) -> bytes:
        """The message for these cases."""
        key = tuple(map(id, cases))
        if key not in self.packed:
            # The cases are kept too: as long as they live, no other has their ids.
            self.packed[key] = (list(cases), run_request(cases))
        return self.packed[key][1]


def run_request(cases: list[Case]) -> bytes:
    """The `run` message for these cases."""
    tensors = {f"{c.id}/{name}": t for c in cases for name, t in c.tensors.items()}
    asked = [{"id": c.id, "steps": list(c.steps)} for c in cases]
    return pack({"do": "run", "cases": asked}, tensors)
