"""Who submitted each file, and when: one function for each course system.

Learners choose their display names and file names, and everything inside their files. So a person
is only found by the system's own numbers and addresses, and the name that the system gives must
fit. What cannot be assigned is lost with a sentence, and never guessed.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

import yaml

from ..course import CourseError
from ..lateness import read_time, written, zone_named
from ..sources.candidates import File, NotRead, shown
from ..sources.submitted_files import escaped
from .commit_dates import commit_dates
from .people import People, called
from .roster import Person, Roster, Row
from .submitted_folder import moment
from .worksheet import DRAFT, IDENTIFIER, number_of, read_date

SUBMITTED_AT, DUE, STATUS = "last modified (submission)", "due date", "status"


@dataclass(frozen=True)
class Reading:
    """The input of a reader, and what it adds.

    source: the download. teams: the members of each team, from teams.csv. zone: the time zone of
    Moodle's dates. lost: what happened to files that belong to no known person, by a sentence.
    texts, drafts: people with an online text, and with files that are not submitted yet; these are
    not collected.
    """

    source: Path
    files: list[File]
    people: People
    roster: Roster
    teams: dict[str, tuple[Person, ...]] = field(default_factory=dict)
    zone: str = ""
    lost: dict[str, list[File]] = field(default_factory=lambda: defaultdict(list))
    texts: list[Person] = field(default_factory=list)
    drafts: list[Person] = field(default_factory=list)

    @cached_property
    def participants(self) -> dict[str, Row]:
        """The rows of a worksheet by the number of a participant."""
        found = {number_of(row.cells.get(IDENTIFIER, "")): row for row in self.roster.rows}
        return {number: row for number, row in found.items() if number}

    @cached_property
    def groups(self) -> dict[str, list[Row]]:
        """The rows of a worksheet by the plain name of their group."""
        found = defaultdict(list)
        for row in self.roster.rows:
            if group := row.cells.get("group"):
                found[plain(group)].append(row)
        return found

    def members(self, team: str) -> tuple[Person, ...]:
        """Return the members of a team in teams.csv."""
        return self.teams.get(plain(team), ())

    def date_in(self, row: Row, column: str) -> str:
        """Return the time in a cell of the worksheet's row, in UTC; "" if there is none.

        Raises CourseError for a time that is not understood.
        """
        cell = row.cells.get(column, "")
        local = read_date(cell) if cell not in ("", "-") else None
        if local is None:
            if cell in ("", "-") or column == STATUS:
                return ""
            where = f"the roster {self.roster.path}, line {row.line}"
            raise CourseError(f"{where}: the date {cell!r} in {column!r} is not understood")
        if not self.zone:
            raise CourseError(
                "the time zone of the worksheet's dates is not known; set zone in the Lateness of "
                "course_config.py, or give --zone Europe/Berlin"
            )
        return in_utc(local, self.zone)


def in_utc(local: datetime, zone: str) -> str:
    """Return a local time in UTC. Of an hour that clocks show twice, the first one counts."""
    try:
        return written(local.replace(tzinfo=zone_named(zone)))
    except OverflowError:  # in the first or the last hours of the calendar
        return ""


def submitted_by(people: tuple[Person, ...], name: str, file: File, time: str = "") -> File:
    """Return a file of a download as one of these people.

    name: the end of its path, which the learner chose. time: in UTC; "" if unknown.
    """
    above = file.path.removesuffix(name)
    return replace(file, path=name, above=above, people=people, submitted=time, time=moment(time))


def plain(name: str) -> str:
    """Return the letters and digits of a name in a fixed order, because systems change the rest.

    Accents do not count either.

    >>> plain("Lind, Ada_M.") == plain("adamlind")
    True
    """
    whole = unicodedata.normalize("NFKD", name).casefold()
    return "".join(sorted(filter(str.isalnum, whole)))


# The default group has no number.
MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<id>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?",
    re.DOTALL,
)


def moodle(reading: Reading) -> Iterator[File]:
    """Yield `Ada Lovelace_12345_assignsubmission_file/ch1.py`, or the same without folders.

    The number is that of `Participant 12345` in the worksheet, or a group's own number, which may
    be equal. So the name decides which of them it is. Raises CourseError without a worksheet.
    """
    reading.roster.check_worksheet()
    for file in reading.files:
        parts = file.path.split("/")
        found = [(at, m) for at, part in enumerate(parts, 1) if (m := MOODLE.fullmatch(part))]
        if not found:
            continue
        at, match = found[0]
        name, number = match["name"], match["id"] or ""
        rows = moodle_rows(reading, name, number)
        people = tuple(row.person for row in rows) or reading.members(name)
        if not people:
            reading.lost[moodle_stranger(reading, name, number)].append(file)
        elif match["kind"] != "file":
            reading.texts.extend(people if match["kind"] == "onlinetext" else ())
        elif any(DRAFT.match(row.cells.get(STATUS, "")) for row in rows):
            reading.drafts.extend(people)
        else:
            own = "/".join(parts[at:]) or match["file"] or file.name
            time = max((reading.date_in(row, SUBMITTED_AT) for row in rows), default="")
            team = name if len(people) > 1 else ""
            yield replace(submitted_by(people, own, file, time), team=team)


def moodle_rows(reading: Reading, name: str, number: str) -> list[Row]:
    """Return the rows of the worksheet that a name and a number are about: a person's or a group's.

    Without names in the worksheet, as in anonymous marking, the number alone decides.
    """
    own, group = reading.participants.get(number), reading.groups.get(plain(name), [])
    if own:
        names = [own.cells.get(column, "") for column in ("full name", IDENTIFIER)]
        if plain(name) in map(plain, names) or not (group or names[0]):
            return [own]
    return group


def moodle_stranger(reading: Reading, name: str, number: str) -> str:
    """Return why a folder of Moodle's download belongs to nobody."""
    other = reading.participants.get(number)
    why = f"{number} is {called(other.person)}" if other else "the worksheet has no such number"
    return f"{shown(name)} is neither a person nor a group of the worksheet ({why}); {ADVICE}"


ADVICE = "write a group's members into teams.csv in SUBMITTED"


def granted(reading: Reading) -> dict[str, str]:
    """Return the later deadlines in Moodle's worksheet, by learner, in UTC. Raises CourseError.

    An extension is in `Status`. If some people have a deadline of their own, all have one in `Due
    date`; the most frequent is that of the class.
    """
    if not reading.roster.is_worksheet:
        return {}
    dues = [reading.date_in(row, DUE) for row in reading.roster.rows]
    usual = Counter(dues).most_common(1)[0][0]
    found = {}
    for row, due in zip(reading.roster.rows, dues, strict=True):
        if own := max(reading.date_in(row, STATUS), due if due > usual else ""):
            found[escaped(row.person["student"])] = own
    return found


CANVAS = re.compile(r"_(LATE_)?(?=(\d+)_(\d+)_(.+))", re.DOTALL)
CANVAS_TEXT = re.compile(r".+?_(?:LATE_)?(\d+)_(?:text|link)\.html")
CANVAS_ANONYMOUS = re.compile(r"(?:LATE_)?anon_[0-9A-Za-z]+_.+", re.DOTALL)
ANONYMOUS = (
    "Canvas hides who submitted, because the assignment is graded anonymously; post the grades or "
    "turn this off, and download again"
)


def canvas(reading: Reading) -> Iterator[File]:
    """Yield `lovelaceada_LATE_101_456_ch1.py`, from the one folder that holds such files.

    Names may hold underscores and numbers, and a group's file has one member's number. So the
    number must be in the gradebook, and the name must be that of its person.
    """
    depth = min((f.path.count("/") for f in reading.files if CANVAS.search(f.name)), default=0)
    for file in reading.files:
        if file.path.count("/") != depth:
            continue
        if text := CANVAS_TEXT.fullmatch(file.name):
            reading.texts.extend(filter(None, [reading.people.find("canvas_id", text[1])]))
        elif CANVAS_ANONYMOUS.fullmatch(file.name):
            reading.lost[ANONYMOUS].append(file)
        elif found := [(file.name[: m.start()], *m.groups()) for m in CANVAS.finditer(file.name)]:
            known = [one for one in found if reading.people.find("canvas_id", one[2])]
            fitting = [one for one in known if canvas_person(reading, one[0], one[2])]
            best = fitting or known or found
            who, late, user, number, own = best[0]
            person = canvas_person(reading, who, user) if len(best) == 1 else None
            people = (person,) if person else reading.members(who)
            if not people:
                reading.lost[canvas_stranger(reading, who, user)].append(file)
            else:
                mine, team = submitted_by(people, own, file), "" if person else who
                yield replace(mine, turn=int(number), late=bool(late), team=team)


def canvas_person(reading: Reading, name: str, number: str) -> Person | None:
    """Return the person with a number of Canvas, if the name is theirs; a new one if unknown."""
    if not reading.people.by.get(("canvas_id", number)):
        return reading.people.add({"canvas_id": number, "name": name}, f"{name}_{number}")
    person = reading.people.find("canvas_id", number)
    return person if person and plain(person["name"]) in ("", plain(name)) else None


def canvas_stranger(reading: Reading, name: str, number: str) -> str:
    """Return why a file of Canvas belongs to nobody."""
    person = reading.people.find("canvas_id", number)
    if person is None:
        return f"it is unclear which number of {shown(name)} is a person's; give the gradebook"
    who = f"{number} is {called(person)}"
    return f"{shown(name)}_{number} is not a person of the gradebook ({who}); {ADVICE}"


GRADESCOPE = re.compile(r"submission_\d+")
METADATA = "submission_metadata.yml"
LARGEST_METADATA = 64 << 20  # bytes
NO_YAML = (yaml.YAMLError, RecursionError, ValueError, TypeError)


def gradescope(reading: Reading) -> Iterator[File]:
    """Yield `assignment_1_export/submission_2/ch1.py`.

    `submission_metadata.yml` next to the `submission_N` folders names the people of each. A file
    of that name inside such a folder was written by a learner, so it is not trusted.
    """
    told: dict[tuple[str, str], dict] = {}
    for file in reading.files:
        *folders, name = file.path.split("/")
        if name == METADATA and not any(map(GRADESCOPE.fullmatch, folders)):
            found = records_in(file)
            told |= {("/".join(folders), key): record for key, record in found.items()}
    if not told:
        raise CourseError(f"there is no {METADATA} that says who submitted; give the whole export")
    people = {key: submitters(reading.people, record) for key, record in told.items()}
    for file in reading.files:
        parts = file.path.split("/")
        at = next((n for n, part in enumerate(parts[:-1]) if GRADESCOPE.fullmatch(part)), None)
        if at is None:
            continue
        key = "/".join(parts[:at]), parts[at]
        if not people.get(key):
            reading.lost[f"{METADATA} names nobody for {parts[at]}"].append(file)
            continue
        time, own = time_in(told[key].get(":created_at")), "/".join(parts[at + 1 :])
        team, turn = parts[at] if len(people[key]) > 1 else "", int(parts[at].partition("_")[2])
        yield replace(submitted_by(people[key], own, file, time), turn=turn, team=team)


def records_in(file: File) -> dict[str, dict]:
    """Return the records of a metadata file, by submission. Raises CourseError."""
    try:
        text = file.read(LARGEST_METADATA).decode("utf-8-sig")
        records = yaml.load(text, yaml.BaseLoader)  # every scalar stays a text
    except (NotRead, *NO_YAML) as error:
        told = f"{shown(file.path)} cannot be read, so nobody is known: {error}"
        raise CourseError(told) from None
    records = records if isinstance(records, dict) else {}
    return {key: record for key, record in records.items() if isinstance(record, dict)}


def submitters(people: People, record: dict) -> tuple[Person, ...]:
    """Return the people of a submission, known ones and new ones.

    The address of an account identifies it. Learners may set their own sid.
    """
    found: list[Person] = []
    told = record.get(":submitters")
    for one in filter(lambda one: isinstance(one, dict), told if isinstance(told, list) else []):
        facts = {name: str(one.get(f":{name}") or "") for name in ("sid", "email", "name")}
        by_sid, email = people.find("sid", facts["sid"]), facts["email"].casefold()
        if by_sid and email and by_sid["email"].casefold() not in ("", email):
            facts["sid"], by_sid = "", None  # this is the sid of another account
        person = people.find("email", email) or by_sid
        if person is None and (facts["sid"] or email):
            with suppress(ValueError):  # the address may be that of several people
                person = people.add(facts)
        found += [person] if person and person not in found else []
    return tuple(found)


def time_in(text: object) -> str:
    """Return a time of Gradescope or git; "" for anything else."""
    try:
        return written(read_time(re.sub(r"(\.\d{6})\d+", r"\1", str(text))))
    except ValueError:
        return ""


HOSTS_TIMES = ("submission_timestamp", "datetime")  # in the host's list of grades


def git(reading: Reading) -> Iterator[File]:
    """Yield the files of clones, `assignment-1-ada/ch1.py`: the login or the team is at the end.

    Logins ignore case. A clone does not contain the time of a push, so without a list of the host,
    a file's time is that of its last commit. Raises CourseError if most clones are unknown.
    """
    depth, owners = clones_in(reading)
    strangers = [clone for clone, people in owners.items() if not people]
    if strangers and 2 * len(strangers) >= len(owners):  # probably these are teams
        count = f"{len(strangers)} of {len(owners)} clones end with no login of the class"
        raise CourseError(f"{count}, such as {shown(strangers[0])}; give a roster, or {ADVICE}")
    listed = {row.person["number"]: row.cells for row in reading.roster.rows}
    is_folder = reading.source.is_dir()
    dates = {clone: commit_dates(reading.source / clone) if is_folder else {} for clone in owners}
    for file in reading.files:
        parts = file.path.split("/")
        clone, name = "/".join(parts[:depth]), "/".join(parts[depth:])
        if not name or clone not in owners:
            continue
        people = owners[clone]
        if not people:
            reading.lost[f"{shown(clone)} ends with no login of the class; {ADVICE}"].append(file)
            continue
        told = [listed.get(p["number"], {}).get(column) for p in people for column in HOSTS_TIMES]
        time = next(filter(None, told), "") or dates[clone].get(name, "")
        team = parts[depth - 1] if len(people) > 1 else ""
        yield replace(submitted_by(people, name, file, time_in(time)), team=team)


def clones_in(reading: Reading) -> tuple[int, dict[str, tuple[Person, ...]]]:
    """Return the depth of the clones in the download, and the people of each clone.

    The instructor may have given the folder above.
    """
    first, second = (clones_at(reading, depth) for depth in (1, 2))
    is_above = not any(first.values()) and any(second.values())
    return (2, second) if is_above else (1, first)


def clones_at(reading: Reading, depth: int) -> dict[str, tuple[Person, ...]]:
    """Return the people of each folder at a depth; () if it ends with no login of the class.

    All names begin with the assignment's name. It is the beginning after which most names are
    known; of several, the shortest, so that a login may contain a dash.
    """
    split = [file.path.split("/") for file in reading.files]
    clones = sorted({"/".join(parts[:depth]) for parts in split if len(parts) > depth})
    names = {clone: clone.rpartition("/")[2] for clone in clones if not clone.startswith(".")}
    known: Counter[str] = Counter()
    for name in names.values():
        ends = [0, *(found.end() for found in re.finditer("-", name))]
        known.update(name[:at] for at in ends if owners_of(reading, name[at:]))
    best = max(known, key=lambda cut: (known[cut], -len(cut)), default="")
    return {
        clone: owners_of(reading, name.removeprefix(best)) if name.startswith(best) else ()
        for clone, name in names.items()
    }


def owners_of(reading: Reading, name: str) -> tuple[Person, ...]:
    """Return the members of a team in teams.csv, or the person with a login."""
    person = reading.people.find("git", name) or reading.people.find("login", name)
    return reading.members(name) or ((person,) if person else ())


SYSTEMS: dict[str, Callable[[Reading], Iterator[File]]] = {
    "moodle": moodle,
    "canvas": canvas,
    "gradescope": gradescope,
    "git": git,
}
