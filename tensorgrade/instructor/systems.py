"""Who submitted each file, and when: one function for each course system.

Learners choose their display names and file names, and everything inside their files. So a person
is only found by the system's own numbers and addresses, and the name that the system gives must
fit. What cannot be assigned is lost with a sentence, and never guessed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import yaml

from ..course import CourseError
from ..lateness import read_time, written, zone_named
from ..sources.candidates import File, NotRead, shown
from .downloads import Download, commit_dates, letters
from .people import IDENTIFIER, WORDS, People, Person, Row, called

ADVICE = "If this is a group, write its members into teams.csv in SUBMITTED"
TEXTS = "submitted only an online text or link, which is not collected"
DRAFTS = "have only a draft, which is not collected"


def owned(file: File, name: str, people: tuple[Person, ...], at: str = "", team: str = "") -> File:
    """Return a file of a download as that of one person, or of a team.

    name: the end of its path, which the learner chose. at: the time in UTC; "" if unknown. team:
    its name, if several people submitted the file.
    """
    return replace(
        file,
        path=name,
        above=file.path.removesuffix(name),
        people=people,
        submitted=at,
        time=read_time(at).timestamp() if at else 0.0,
        team=team if len(people) > 1 else "",
    )


STATUS, DUE, SUBMITTED_AT = "status", "due date", "last modified (submission)"
MONTH = {name: int(n) for n, names in WORDS["months"].items() for name in names.split()}
WORD = rf"\b(?P<month>{'|'.join(sorted(MONTH, key=len, reverse=True))})"
TIME = (
    r"\D{1,12}(?P<hour>\d{1,2})[:h.](?P<minute>\d\d)(:(?P<second>\d\d))?"
    r"(\s*(?P<half>[ap])\.?\s?m\b)?"
)
DATES = [
    re.compile(date + TIME)
    for date in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        rf"\b(?P<day>\d{{1,2}})[.ºª]?\s+(de\s+)?{WORD}\s+(de\s+)?(?P<year>\d{{4}})",
        rf"{WORD}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})",
    )
]
# The status of files that a learner has not submitted yet.
DRAFT = re.compile(r"(draft|entwurf|brouillon|borrador|bozza|concept|rascunho)\b", re.IGNORECASE)
# The path of a file. The default group has no number.
MOODLE = re.compile(
    r"(?:.*?/)??(?P<name>[^/]+?)(?:_(?P<id>\d+))?_assignsubmission_(?P<kind>[a-z]+)"
    r"(?:_(?P<file>[^/]*))?(?:/(?P<path>.+))?",
    re.DOTALL,
)


def moodle(download: Download) -> Iterator[File]:
    """Yield `Ada Lovelace_12345_assignsubmission_file_/ch1.py`, or the same without folders.

    The number is that of `Participant 12345` in the worksheet, or a group's own number, which may
    be equal. So the name decides which of them it is. Without names in the worksheet, as in
    anonymous marking, the number alone decides. Raises CourseError without a worksheet.
    """
    download.roster.check_worksheet()
    numbers = {row.number: row for row in download.roster.rows}
    groups = defaultdict(list)
    for row in download.roster.rows:
        groups[letters(row.cells.get("group", ""))].append(row)
    for file, match in ((file, MOODLE.fullmatch(file.path)) for file in download.files):
        if match is None:
            continue
        name, own = match["name"], numbers.get(match["id"] or "-")
        rows = groups[letters(name)] if letters(name) else []
        if own:
            names = [own.cells.get(column, "") for column in ("full name", IDENTIFIER)]
            if letters(name) in map(letters, names) or not (rows or names[0]):
                rows = [own]
        people = tuple(row.person for row in rows) or download.teams.get(letters(name), ())
        if not people:
            why = f" (number {match['id']} is {called(own.person)})" if own else ""
            who = f"the worksheet has no person and no group named {shown(name)}{why}"
            download.lose(file, f"{who}. {ADVICE}")
        elif match["kind"] != "file":
            download.others[TEXTS].extend(people if match["kind"] == "onlinetext" else ())
        elif any(DRAFT.match(row.cells.get(STATUS, "")) for row in rows):
            download.others[DRAFTS].extend(people)
        else:
            time = max((date_in(download, row, SUBMITTED_AT) for row in rows), default="")
            path = match["path"] or match["file"] or file.name
            yield owned(file, path, people, time, name)


def date_in(download: Download, row: Row, column: str) -> str:
    """Return the time in a cell of Moodle's worksheet, in UTC; "" if there is none.

    Of an hour that clocks show twice, the first one counts. Raises CourseError for a time that is
    not understood.
    """
    cell = row.cells.get(column, "").strip("-")
    local = read_date(cell)
    if local is None:
        if not cell or column == STATUS:
            return ""
        where = f"the roster {download.roster.path}, line {row.line}"
        raise CourseError(f"{where}: the date {cell!r} in {column!r} is not understood")
    if not download.zone:
        raise CourseError(
            "the time zone of the worksheet's dates is not known; set zone in the Lateness of "
            "course_config.py, or give --zone Europe/Berlin"
        )
    try:
        return written(local.replace(tzinfo=zone_named(download.zone)))
    except OverflowError:  # in the first or the last hours of the calendar
        return ""


def read_date(text: str) -> datetime | None:
    """Return the local time in a worksheet's cell; None if there is none that is understood.

    Moodle writes months as words.

    >>> str(read_date("Montag, 5. Oktober 2026, 14:30"))
    '2026-10-05 14:30:00'
    >>> str(read_date("2026-10-05 2:30 PM")), read_date("10/5/2026, 2:30 PM")
    ('2026-10-05 14:30:00', None)
    """
    for date in DATES:
        if found := date.search(text.casefold()):
            hour, half = int(found["hour"]), found["half"]
            if half:
                hour = hour % 12 + (12 if half == "p" else 0)
            month = MONTH.get(found["month"]) or int(found["month"])
            with suppress(ValueError):
                day = int(found["year"]), month, int(found["day"])
                return datetime(*day, hour, int(found["minute"]), int(found["second"] or 0))
    return None


def extensions_in(download: Download) -> dict[str, str]:
    """Return the later deadlines in Moodle's worksheet, by learner, in UTC. Raises CourseError.

    An extension is in `Status`. If some people have a deadline of their own, all have one in `Due
    date`; the most frequent is that of the class.
    """
    if IDENTIFIER not in download.roster.columns:
        return {}
    dues = [date_in(download, row, DUE) for row in download.roster.rows]
    usual = Counter(dues).most_common(1)[0][0]
    found = {}
    for row, due in zip(download.roster.rows, dues, strict=True):
        if own := max(date_in(download, row, STATUS), due if due > usual else ""):
            found[row.student] = own
    return found


CANVAS = re.compile(r"_(LATE_)?(?=(\d+)_(\d+)_(.+))", re.DOTALL)
CANVAS_TEXT = re.compile(r".+?_(?:LATE_)?(\d+)_(?:text|link)\.html")
CANVAS_ANONYMOUS = re.compile(r"(?:LATE_)?anon_[0-9A-Za-z]+_.+", re.DOTALL)
ANONYMOUS = (
    "Canvas hides who submitted, because the assignment is graded anonymously; post the grades or "
    "turn this off, and download again"
)


def canvas(download: Download) -> Iterator[File]:
    """Yield `lovelaceada_LATE_101_456_ch1.py`, from the one folder that holds such files.

    Names may hold underscores and numbers, and a group's file has one member's number. So the
    number must be in the gradebook, and the name must be that of its person.
    """
    people, files = download.people, download.files
    depth = min((f.path.count("/") for f in files if CANVAS.search(f.name)), default=0)
    for file in [file for file in files if file.path.count("/") == depth]:
        if text := CANVAS_TEXT.fullmatch(file.name):
            download.others[TEXTS].extend(filter(None, [people.find("canvas_id", text[1])]))
        elif CANVAS_ANONYMOUS.fullmatch(file.name):
            download.lose(file, ANONYMOUS)
        elif found := [(file.name[: m.start()], *m.groups()) for m in CANVAS.finditer(file.name)]:
            known = [one for one in found if people.find("canvas_id", one[2])]
            fitting = [one for one in known if canvas_person(people, one[0], one[2])]
            best = fitting or known or found
            who, late, user, number, own = best[0]
            person = canvas_person(people, who, user) if len(best) == 1 else None
            if owners := (person,) if person else download.teams.get(letters(who), ()):
                mine = owned(file, own, owners, team=who)
                yield replace(mine, turn=int(number), late=bool(late))
                continue
            why = f"it is unclear which number of {shown(who)} is a person's; give the gradebook"
            if other := people.find("canvas_id", user):
                why = f"{shown(who)} has the number {user} of {called(other)}. {ADVICE}"
            download.lose(file, why)


def canvas_person(people: People, name: str, number: str) -> Person | None:
    """Return the person with a number of Canvas, if the name is theirs; a new one if unknown."""
    person = people.find("canvas_id", number)
    if person is None:
        return people.add({"canvas_id": number, "name": name}, f"{name}_{number}")
    return person if letters(person["name"]) in ("", letters(name)) else None


GRADESCOPE = re.compile(
    r"(?P<above>(?:.*?/)??)(?P<key>submission_(?P<turn>\d+))/(?P<path>.+)", re.DOTALL
)
METADATA = "submission_metadata.yml"
LARGEST_METADATA = 64 << 20  # bytes
NO_YAML = (yaml.YAMLError, RecursionError, ValueError, TypeError)


def gradescope(download: Download) -> Iterator[File]:
    """Yield `assignment_1_export/submission_2/ch1.py`.

    `submission_metadata.yml` next to the `submission_N` folders names the people of each. A file
    of that name inside such a folder was written by a learner, so it is not trusted.
    """
    inside = [(file, GRADESCOPE.fullmatch(file.path)) for file in download.files]
    records: dict[str, dict] = {}  # by the path of a submission's folder
    for file, match in inside:
        if file.name == METADATA and match is None:
            above = file.path.removesuffix(METADATA)
            records |= {f"{above}{key}": own for key, own in records_in(file).items()}
    if not records:
        raise CourseError(f"there is no {METADATA} that says who submitted; give the whole export")
    people = {key: submitters(download.people, record) for key, record in records.items()}
    for file, match in inside:
        if match is None:
            continue
        key = f"{match['above']}{match['key']}"
        if people.get(key):
            at = time_in(records[key].get(":created_at"))
            mine = owned(file, match["path"], people[key], at, match["key"])
            yield replace(mine, turn=int(match["turn"]))
        else:
            download.lose(file, f"{METADATA} names nobody for {match['key']}")


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
    """Return a time of Gradescope or git in UTC; "" for anything else."""
    try:
        return written(read_time(re.sub(r"(\.\d{6})\d+", r"\1", str(text))))
    except ValueError:
        return ""


HOSTS_TIMES = ("submission_timestamp", "datetime")  # in the host's list of grades


def git(download: Download) -> Iterator[File]:
    """Yield the files of clones, `assignment-1-ada/ch1.py`: the login or the team is at the end.

    The clones may be one folder deeper. A clone does not contain the time of a push, so without a
    list of the host, a file's time is that of its last commit. Raises CourseError if most clones
    are unknown.
    """
    both = [clones_at(download, depth) for depth in (1, 2)]
    owners = max(both, key=lambda owners: any(owners.values()))
    strangers = [clone for clone, people in owners.items() if not people]
    if strangers and 2 * len(strangers) >= len(owners):  # probably these are teams
        count = f"{len(strangers)} of {len(owners)} clones end with no login of the class"
        why = f"{count}, such as {shown(strangers[0])}; give a roster with the logins"
        raise CourseError(f"{why}. {ADVICE}")
    listed = {row.person["number"]: row.cells for row in download.roster.rows}
    depth = 1 + max((clone.count("/") for clone in owners), default=0)
    own = defaultdict(list)
    for file in download.files:
        own["/".join(file.path.split("/")[:depth])].append(file)
    for clone, people in owners.items():
        cells = [listed.get(person["number"], {}) for person in people]
        host = next(filter(None, (line.get(name) for line in cells for name in HOSTS_TIMES)), "")
        is_folder = people and (download.source / clone).is_dir()
        dates = commit_dates(download.source / clone) if is_folder else {}
        for file in own[clone]:
            name = file.path.removeprefix(f"{clone}/")
            if people:
                at = time_in(host or dates.get(name, ""))
                yield owned(file, name, people, at, clone.rpartition("/")[2])
            else:
                why = f"{shown(clone)} ends with no login of the class"
                download.lose(file, f"{why}. {ADVICE}")


def clones_at(download: Download, depth: int) -> dict[str, tuple[Person, ...]]:
    """Return the people of each folder at a depth; () if it ends with no login of the class.

    All names begin with the assignment's name. It is the beginning after which most names are
    known; of several, the shortest, so that a login may contain a dash.
    """
    split = [file.path.split("/") for file in download.files]
    clones = sorted({"/".join(parts[:depth]) for parts in split if len(parts) > depth})
    names = {clone: clone.rpartition("/")[2] for clone in clones if not clone.startswith(".")}
    known: Counter[str] = Counter()
    for name in names.values():
        ends = [0, *(found.end() for found in re.finditer("-", name))]
        known.update(name[:at] for at in ends if owners_of(download, name[at:]))
    best = max(known, key=lambda cut: (known[cut], -len(cut)), default="")
    return {
        clone: owners_of(download, name.removeprefix(best)) if name.startswith(best) else ()
        for clone, name in names.items()
    }


def owners_of(download: Download, name: str) -> tuple[Person, ...]:
    """Return the members of a team in teams.csv, or the person with a login, in any case."""
    person = download.people.find("git", name) or download.people.find("login", name)
    return download.teams.get(letters(name), ()) or ((person,) if person else ())


SYSTEMS: dict[str, Callable[[Download], Iterator[File]]] = {
    "moodle": moodle,
    "canvas": canvas,
    "gradescope": gradescope,
    "git": git,
}
