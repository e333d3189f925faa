"""Steps of cases, as data.

The trusted side writes a step and sends it as JSON, and the learner's side runs it. A step refers
to tensors and objects by name. Its results are collected under its result name.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from .values import Tree


@dataclass(frozen=True)
class Step:
    """A step of a case, as data.

    verb: a name in VERBS.
    name, on, path: the target of the step. It is a definition of the file (`name`), an object that
        an earlier step made (`on`), or a part of that object at a dotted path. In a case that is
        not recorded yet, `on` is that earlier step itself.
    arguments: the values passed to learner code. In a case that is not recorded yet, the options
        are among them.
    options: keywords of the verb's function.
    result: the name of the object or result.
    stages: True to record intermediate values. One such step is enough for the whole case.
    """

    verb: str
    name: str = ""
    on: Any = ""
    path: str = ""
    arguments: dict[str, Tree] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    stages: bool = False

    def in_float32(self) -> "Step":
        """Return the step in float32, if it uses a dtype."""
        coarse = {"dtype": "float32"} if "dtype" in self.options else {}
        return replace(self, options=self.options | coarse)

    def encode(self) -> dict[str, Any]:
        """Return the step as a dict for JSON, without empty fields; Step(**told) reads it."""
        return {name: value for name, value in vars(self).items() if value}
