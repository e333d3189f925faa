"""When chapters are due, and what late work loses: one rule for every route to a grade."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

DAY = 24 * 60 * 60
WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) ?(\S*)")
LAST, BEST = "last", "best"


@dataclass(frozen=True)
class Lateness:
    """What an instructor decides about late work, in `course_config.py`.

    deadlines: by chapter, as `read_time` reads them. zone: of deadlines that name none, of Moodle's
    worksheet, and of every time that is shown, such as `Europe/Berlin`. share_a_day: of the earned
    points, lost for each day begun (0: none, 1: all at once); most: never more than this share of
    them. grace_seconds: so much later is still in time. attempts: of files submitted one after the
    other the `last` counts, or the `best`. feedback_from: until then learners only see that a
    submission was received, and whether it can be loaded; empty: from the beginning.
    """

    deadlines: dict[str, str] = field(default_factory=dict)
    share_a_day: float = 0.0
    most: float = 1.0
    grace_seconds: float = 0.0
    attempts: str = LAST
    zone: str = ""
    feedback_from: str = ""

    def __post_init__(self) -> None:
        """Give deadlines without a time zone that of the course."""
        object.__setattr__(self, "feedback_from", with_zone(self.feedback_from, self.zone))
        dues = {name: with_zone(due, self.zone) for name, due in self.deadlines.items()}
        object.__setattr__(self, "deadlines", dues)

    def seconds_late(self, chapter: str, submitted: str | None, due: str | None = None) -> float:
        """Return how long after its deadline a chapter came in; 0 without a deadline or a time.

        due: a learner's own deadline, if not that of the class.
        """
        due = due or self.deadlines.get(chapter)
        if due is None or not submitted:
            return 0.0
        try:
            seconds = (read_time(submitted) - read_time(due)).total_seconds()
        except ValueError:  # a row of an earlier version
            return 0.0
        return round(seconds, 3) if seconds > self.grace_seconds else 0.0

    def share_lost(self, seconds_late: float) -> float:
        """The share of the earned points that work so late loses.

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

        Whatever was taken off before is given back first, so a deadline may move later. due: a
        learner's own deadline.
        """
        earned = row["points"] + row.get("penalty", 0.0)
        late = self.seconds_late(row["chapter"], submitted, due)
        penalty = round(earned * self.share_lost(late), 6)
        dates = {"submitted": submitted or None, "late_seconds": late, "penalty": penalty}
        return row | {"points": round(earned - penalty, 6)} | dates

    def complaints(self, chapters: list[str]) -> list[str]:
        """What is wrong with these settings, a sentence each."""
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
        shares = {"share_a_day": self.share_a_day, "most": self.most}
        found += [
            f"{n} is {v:g}; give a share, 0 to 1" for n, v in shares.items() if not 0 <= v <= 1
        ]
        if self.grace_seconds < 0:
            found.append("grace_seconds is negative")
        if self.attempts not in (LAST, BEST):
            found.append(f"attempts is {self.attempts!r}; it is last or best")
        return found


def read_time(text: str) -> datetime:
    """A moment: date, time and time zone, as nbgrader writes it, as ISO does, or by its place.

    Raises ValueError with a sentence. Without a zone it is UTC, as nbgrader has it.

    >>> read_time("2027-01-15 23:59 UTC") == read_time("2027-01-16T00:59:00+01:00")
    True
    >>> read_time("2027-01-15 23:59 Europe/Berlin").isoformat()
    '2027-01-15T22:59:00+00:00'
    """
    found = WHEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no time such as 2027-01-15 23:59 UTC")
    day, time, zone = found.groups()
    try:
        if zone in ("", "Z", "UTC", "GMT"):
            moment = datetime.fromisoformat(f"{day} {time}").replace(tzinfo=UTC)
        elif zone[0] in "+-":
            moment = datetime.fromisoformat(f"{day} {time}{zone}")
        else:
            moment = datetime.fromisoformat(f"{day} {time}").replace(tzinfo=zone_named(zone))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # at the edge of the calendar a zone leads out
        raise ValueError(f"{text!r} is no time: {error}") from None


def with_zone(text: str, zone: str) -> str:
    """Return a time with a zone's name behind it, unless it names one already."""
    found = WHEN.fullmatch(text.strip())
    return f"{text.strip()} {zone}" if zone and found and not found[3] else text


def check_deadline(text: str) -> None:
    """Raise ValueError for a deadline that is no time, or not one time only."""
    read_time(text)
    day, time, zone = WHEN.fullmatch(text.strip()).groups()  # type: ignore[union-attr]
    if not zone:
        why = "names no time zone; add one, or give the course's own: zone"
        raise ValueError(f'{text!r} {why}="Europe/Berlin"')
    if zone[0] in "+-" or zone in ("Z", "UTC", "GMT"):
        return
    local = datetime.fromisoformat(f"{day} {time}")
    if not exists(local, zone):
        raise ValueError(f"{text!r} does not exist: clocks skip this hour")
    if is_twice(local, zone):
        offsets = " or ".join(f"{moment:%z}" for moment in both(local, zone))
        raise ValueError(f"{text!r} happens twice, when clocks go back; write {offsets}")


def both(local: datetime, zone: str) -> tuple[datetime, datetime]:
    """Return the two moments that a local time may be; nearly always they are equal."""
    rules = zone_named(zone)
    return local.replace(tzinfo=rules, fold=0), local.replace(tzinfo=rules, fold=1)


def exists(local: datetime, zone: str) -> bool:
    """Return True unless clocks skip this hour.

    >>> exists(datetime(2027, 3, 28, 2, 30), "Europe/Berlin")
    False
    """
    try:
        there_and_back = both(local, zone)[0].astimezone(UTC).astimezone(zone_named(zone))
    except OverflowError:  # at the edge of the calendar
        return True
    return there_and_back.replace(tzinfo=None) == local


def is_twice(local: datetime, zone: str) -> bool:
    """Return True for an hour that clocks show twice.

    >>> is_twice(datetime(2027, 10, 31, 2, 30), "Europe/Berlin")
    True
    """
    first, second = both(local, zone)
    return exists(local, zone) and first.utcoffset() != second.utcoffset()


def in_zone(text: str | None, zone: str) -> str:
    """Return a time of a row as the course's clocks show it, with the name of the zone.

    >>> in_zone("2027-01-15 08:00:00 UTC", "Europe/Berlin")
    '2027-01-15 09:00:00 Europe/Berlin'
    """
    try:
        local = read_time(text or "").astimezone(zone_named(zone)) if zone else None
    except (ValueError, OverflowError):
        local = None
    if local is None:
        return text or ""
    return f"{local.replace(tzinfo=None).isoformat(' ')} {zone}"


def zone_named(name: str) -> tzinfo:
    """A time zone by its name. Raises ValueError."""
    from zoneinfo import ZoneInfo  # learners' commands read the course, and no time zone

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
    """A moment as rows and nbgrader have it: `2027-01-15 23:59:00 UTC`.

    >>> written(datetime(1, 1, 1, tzinfo=UTC))
    '0001-01-01 00:00:00 UTC'
    """
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(' ')} UTC"


EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)  # before there were courses of this kind
TOLERANCE = timedelta(days=1)  # a time in another zone is no time in the future


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def is_released(rule: Lateness) -> bool:
    """Return True if learners may see points and messages by now."""
    return not rule.feedback_from or now() >= read_time(rule.feedback_from)


def is_possible(moment: datetime) -> bool:
    """Return True for a time at which somebody can have submitted something.

    >>> is_possible(EARLIEST), is_possible(datetime(9999, 1, 1, tzinfo=UTC))
    (True, False)
    """
    return EARLIEST <= moment <= now() + TOLERANCE
