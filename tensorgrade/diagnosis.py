"""What is told about a failed check. One record, rendered by every view.

`Diagnosis` is all that may be said on hidden cases: shapes, places, names of mistakes and the
learner's own values. `OpenDiagnosis` adds the expected values, and is only ever made for public
cases: the type makes the difference, not the renderer.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Diagnosis:
    """Why one check failed, in words that a learner understands.

    kind: `to do`, `missing`, `error`, `timeout`, `killed`, `shape`, `nan`, `values`, `fact`.
    said: one plain sentence. called: what was called, with shapes. where: at which places.
    actual: the learner's own result. error: what the learner's code raised, with its line.
    remarks: what else can be said where no known mistake matches.
    """

    kind: str
    said: str
    called: str = ""
    where: str = ""
    actual: torch.Tensor | None = None
    error: dict | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenDiagnosis(Diagnosis):
    """A diagnosis on a public case: the expected values may be shown beside the learner's."""

    expected: torch.Tensor | None = None
    differs: torch.Tensor | None = None


class Wrong(AssertionError):
    """Raised by a check that fails; carries its diagnosis."""

    def __init__(self, diagnosis: Diagnosis):
        super().__init__(diagnosis.said)
        self.diagnosis = diagnosis
