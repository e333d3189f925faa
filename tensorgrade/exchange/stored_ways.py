"""The values that right answers pass through, as they lie in a file of references.

They only word messages on what is wrong, and are most of that file: a case's are read when they
are asked for.
"""

from collections.abc import Iterator, Mapping

from safetensors import safe_open

from .stages import Way, way_from_json


class StoredWays(Mapping[str, tuple[Way, ...]]):
    """The ways of some cases, by the cases' ids.

    file: open. told: by case, what `stages_to_json` says of each of its ways. keys: the names of
    their values in the file.
    """

    def __init__(self, file: safe_open, told: dict[str, list], keys: list[str]):
        self.file, self.told = file, told
        self.read: dict[str, tuple[Way, ...]] = {}
        self.keys_of: dict[str, list[str]] = {case: [] for case in told}
        for key in keys:
            self.keys_of[key.split("|", 1)[0]].append(key)

    def __getitem__(self, case: str) -> tuple[Way, ...]:
        if case not in self.read:
            values = self.values_of(case)
            self.read[case] = tuple(
                way_from_json(one, values.get(f"way {number}", {}))
                for number, one in enumerate(self.told[case])
            )
        return self.read[case]

    def values_of(self, case: str) -> dict:
        """The values of a case by the way, and by their places in it."""
        values: dict[str, dict] = {}
        for key in self.keys_of[case]:
            _, way, at = key.split("|", 2)
            values.setdefault(way, {})[at] = self.file.get_tensor(key)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self.told)

    def __len__(self) -> int:
        return len(self.told)
