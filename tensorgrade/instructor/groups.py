"""Group wrong answers without a known mistake by their results on all cases."""

import re
from collections import defaultdict
from collections.abc import Mapping

LONGEST_CODE = 6000


def groups_of(rows: list[dict], codes: Mapping[str, str]) -> list[dict]:
    """Return the groups of a class, the largest first: wrong answers with the same results.

    codes: the code of one of each group.
    """
    members: dict[str, list[dict]] = defaultdict(list)
    for row in rows:
        if row.get("group"):
            members[row["group"]].append(row)
    found = []
    for name, same in members.items():
        about = {"name": name, "exercise": same[0]["exercise"], "message": same[0]["message"]}
        students = [row["student"] for row in same]
        found.append(about | {"students": students, "code": codes.get(name, "")})
    return sorted(found, key=lambda one: (-len(one["students"]), one["exercise"], one["name"]))


def definition_in(text: str, name: str) -> str:
    """Return the last definition of a name in a text, with its indented lines.

    The text is a learner's, so it is split into lines but never parsed.
    """
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if re.match(rf"(def|class) {name}\b", line)]
    if not starts:
        return ""
    first, last = starts[-1], starts[-1] + 1
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t)]}#"):
        last += 1
    return "\n".join(lines[first:last]).strip()[:LONGEST_CODE]
