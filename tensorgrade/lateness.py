"""Deadlines and deductions for late work: one rule for every route to a grade."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta

DAY = 24 * 60 * 60
WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) ?(\S*)")
BEST = "best"
Share = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True)
class Lateness:
    """An instructor's rule for late work, in `course_config.py`.

    - deadlines: by chapter, in the formats of `read_time`.
    - zone: a time zone such as `Europe/Berlin`, for deadlines without one, for Moodle's worksheet
      and for all times shown.
    - share_a_day: the share of the earned points lost for each day begun (0: none, 1: all).
    - most: the largest share that can be lost.
    - grace_seconds: the delay that still counts as in time.
    - attempts: if there are several submissions, the `last` or the `best` counts.
    - hidden_runs_a_day: on Gradescope, the submissions a day that are graded with the hidden tests;
      later ones run the public checks. 0 means no limit.
    - feedback_from: until this time learners only see that a submission was received, and if it can
      be loaded. If empty, they see their results at once.
    """

    deadlines: dict[str, str] = field(default_factory=dict)
    share_a_day: Share = 0.0
    most: Share = 1.0
    grace_seconds: Annotated[float, Meta(ge=0)] = 0.0
    attempts: Literal["last", "best"] = "last"
    zone: str = ""
    feedback_from: str = ""
    hidden_runs_a_day: Annotated[int, Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        """Add the course's time zone to deadlines and to `feedback_from`, if they have none."""
        object.__setattr__(self, "feedback_from", with_zone(self.feedback_from, self.zone))
        dues = {name: with_zone(due, self.zone) for name, due in self.deadlines.items()}
        object.__setattr__(self, "deadlines", dues)

    def shown_deadline(self, chapter: str, own: str = "") -> str:
        """Return a deadline as learners read it, in the course's time zone; "" without one.

        own: a learner's own deadline.
        """
        whole = in_zone(own or self.deadlines.get(chapter, ""), self.zone)
        return re.sub(r"(\d\d:\d\d):00(?= )", r"\1", whole)

    def share_lost(self, seconds_late: float) -> float:
        """Return the share of the earned points that work loses if it is this late.

        >>> rule = Lateness(share_a_day=0.2, most=0.5, grace_seconds=60)
        >>> rule.share_lost(60), rule.share_lost(61), rule.share_lost(DAY + 1), rule.share_lost(1e9)
        (0.0, 0.2, 0.4, 0.5)
        """
        if seconds_late <= self.grace_seconds:
            return 0.0
        days = -(-seconds_late // DAY)  # a day that has begun counts
        return float(min(self.most, self.share_a_day * days))

    def applied(self, row: dict, submitted: str | None, due: str | None = None) -> dict:
        """Return a row with `submitted`, `late_seconds`, `penalty`, and `points` less the penalty.

        due: a learner's own deadline. A submission without a time is not late.
        """
        due, late = due or self.deadlines.get(row["chapter"]), 0.0
        if due and submitted:
            late = round((read_time(submitted) - read_time(due)).total_seconds(), 3)
        late = late if late > self.grace_seconds else 0.0
        penalty = round(row["points"] * self.share_lost(late), 6)
        dates = {"submitted": submitted or None, "late_seconds": late, "penalty": penalty}
        return row | {"points": round(row["points"] - penalty, 6)} | dates

    def complaints(self, chapters: list[str]) -> list[str]:
        """Return the errors in these settings, one sentence each."""
        found = [f"no chapter is named {name}" for name in self.deadlines if name not in chapters]
        if self.zone and not is_zone(self.zone):
            return [*found, f"there is no time zone {self.zone}"]
        dates = {f"the deadline of {name}": due for name, due in self.deadlines.items()}
        dates |= {"feedback_from": self.feedback_from} if self.feedback_from else {}
        for what, date in dates.items():
            try:
                check_deadline(date)
            except ValueError as error:
                found.append(f"{what}: {error}")
        return found


@lru_cache(maxsize=4096)  # each row of a submission asks for its time and its deadline
def read_time(text: str) -> datetime:
    """Read a date, a time and a time zone: a name like `Europe/Berlin`, an offset, or UTC.

    Return the moment in UTC. A time without a zone is in UTC, as in nbgrader. Raises ValueError
    with a sentence.

    >>> read_time("2027-01-15 23:59 UTC") == read_time("2027-01-16T00:59:00+01:00")
    True
    >>> read_time("2027-01-15 23:59 Europe/Berlin").isoformat()
    '2027-01-15T22:59:00+00:00'
    """
    found = WHEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a time such as 2027-01-15 23:59 UTC")
    day, time, zone = found.groups()
    try:
        if zone[:1] in ("+", "-"):
            return datetime.fromisoformat(f"{day} {time}{zone}").astimezone(UTC)
        place = UTC if zone in ("", "Z", "UTC", "GMT") else zone_named(zone)
        return datetime.fromisoformat(f"{day} {time}").replace(tzinfo=place).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # a zone can cross the calendar's limits
        raise ValueError(f"{text!r} is not a time: {error}") from None


def with_zone(text: str, zone: str) -> str:
    """Add a zone's name to a time, unless the time has a zone already."""
    found = WHEN.fullmatch(text.strip())
    return f"{text.strip()} {zone}" if zone and found and not found[3] else text


def check_deadline(text: str) -> str:
    """Return a deadline. Raises ValueError if it is not a time, or names no time zone."""
    read_time(text)
    if with_zone(text, "UTC") != text:
        why = "names no time zone; add one, such as Europe/Berlin, or give the course one"
        raise ValueError(f'{text!r} {why}: Lateness(zone="Europe/Berlin") in course_config.py')
    return text


def in_zone(text: str | None, zone: str) -> str:
    """Return a time from a row in the course's time zone, followed by the zone's name."""
    try:
        local = read_time(text or "").astimezone(zone_named(zone))
    except (ValueError, OverflowError):
        return text or ""
    return f"{local.replace(tzinfo=None).isoformat(' ')} {zone}"


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name. Raises ValueError."""
    from zoneinfo import ZoneInfo  # learners' commands load this module but need no time zone

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError(f"there is no time zone {name}") from None


def is_zone(name: str) -> bool:
    """Return True for the name of a time zone."""
    try:
        return bool(zone_named(name))
    except ValueError:
        return False


def written(moment: datetime) -> str:
    """Format a moment as in rows and in nbgrader: `2027-01-15 23:59:00 UTC`."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(' ')} UTC"


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def is_released(rule: Lateness) -> bool:
    """Return True if learners may see points and messages now."""
    return not rule.feedback_from or now() >= read_time(rule.feedback_from)
