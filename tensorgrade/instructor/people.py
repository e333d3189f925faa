"""The people of a class: class lists of any course system, and our own list of people.

`people.csv` is next to SUBMITTED and OUT:

    number,student,name,email,login,id_number,canvas_id,sid,git,section
    1,ada,Ada Lind,ada@uni.edu,ada,s101,7001,,,Lab 1

`collect`, and other commands with `--roster`, add people and what a class list says about them. The
name of a person's folder, `student`, never changes, and a number is given only once. An id belongs
to one person. An address may be given to another person, so it counts only without an id.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

from ..course import CourseError
from ..sources.finding import OURS, PEOPLE
from ..sources.submitted_files import STAMP, escaped
from ..views.csv_cells import by_column, lines_of, read_table, write_table

Person = dict[str, str]  # by the columns of people.csv
IDS = ("login", "id_number", "canvas_id", "sid", "git")
COLUMNS = ("number", "student", "name", "email", *IDS, "section")

LONGEST_NAME = 180  # bytes; file systems allow 255, and numbers are added to names
RESERVED = {STAMP, PEOPLE, *OURS}
UNSAFE = re.compile(r'[/\\<>:"|?*\x00-\x1f\x7f\ud800-\udfff]')
# Windows uses these names for devices, with any ending.
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(\.|$)", re.IGNORECASE)


def safe(name: str) -> str:
    """Return a short name for a file or folder that is allowed everywhere and is not reserved.

    >>> safe("CON"), safe("nul.txt"), safe("a:b"), safe("ada. "), safe("../ada"), safe(".hidden")
    ('_CON', '_nul.txt', 'a_b', 'ada', '_._ada', '_hidden')
    >>> safe("Ada Lovelace_1"), safe("Teams.csv"), safe("a" * 300 + ".py")[-15:]
    ('Ada Lovelace_1', '_Teams.csv', 'aaa~c842e6b0.py')
    """
    plain = UNSAFE.sub("_", name).strip()
    if plain.startswith("."):
        plain = f"_{plain[1:]}"
    plain = plain.rstrip(". ")  # Windows drops these
    if plain.casefold() in RESERVED or DEVICE.match(plain) or not plain:
        plain = f"_{plain}"
    if len(plain.encode()) > LONGEST_NAME:
        start = plain.encode()[: LONGEST_NAME - 30].decode(errors="ignore")
        digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
        plain = f"{start}~{digest}{Path(plain).suffix[:5]}"
    return plain


def normal(value: str) -> str:
    """Return a key that is equal for values in any case, and for equal names of folders."""
    return unicodedata.normalize("NFC", value).casefold()


# --- class lists ----------------------------------------------------------------------------------

# What we know about a person, and the columns that say it; the first ones name new folders.
FACTS = {
    "login": ("sis login id", "username", "student_id"),
    "id_number": ("sis user id", "id number"),
    "email": ("email address", "email"),
    "sid": ("sid",),
    "canvas_id": ("id",),
    "git": ("github_username",),
    "name": ("full name", "student", "name"),
    "section": ("section", "sections", "groups"),
}
SPLIT_NAMES = (("lastname", "firstname"), ("last name", "first name"), ("last_name", "first_name"))
IDENTIFYING = [column for name in FACTS if name != "section" for column in FACTS[name]]
ROLES = ("role", "roles")
STAFF = re.compile(r"\b(instructor|teacher|assistant|ta|reader|grader|staff|observer)s?\b", re.I)
POSSIBLE = "points possible"  # a row in Canvas' gradebook
NO_PERSON = (POSSIBLE, "student, test", "test student")


@dataclass
class Row:
    """A row of a class list. line: its number in the file. raw: the cells, unchanged.

    cells: by column. facts: what it says about a person, by the names in FACTS. person: whose row
    it is, after `People.update`.
    """

    line: int
    raw: list[str]
    cells: dict[str, str]
    facts: Person
    person: Person = field(default_factory=dict)

    @property
    def student(self) -> str:
        """The name of the person as in rows of results."""
        return escaped(self.person["student"])

    @property
    def number(self) -> str:
        """The number of a participant of Moodle, in any language; "" if there is none."""
        found = NUMBERED.fullmatch(self.cells.get(IDENTIFIER, ""))
        return found[2] if found else ""


@dataclass(frozen=True)
class Roster:
    """A class list. An empty one has no rows.

    header: the column names as written. columns: the same in lower case, those of Moodle's
    worksheet in English. rows: the learners. staff: the number of other people. possible: Canvas'
    row of possible points, unchanged.
    """

    path: Path = Path()
    header: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    staff: int = 0
    possible: tuple[str, ...] = ()

    def check_worksheet(self) -> None:
        """Raise CourseError if this is not Moodle's grading worksheet."""
        if IDENTIFIER not in self.columns:
            told = "Moodle's numbers are in its grading worksheet; give it with --roster"
            raise CourseError(told)


def read_roster(path: Path | None) -> Roster:
    """Return the class list in a CSV file; an empty one without a file. Raises CourseError.

    Canvas' lists also have a row of points and one for tests.
    """
    if path is None:
        return Roster()
    (_, header), *lines = lines_of(path)
    columns = english(header)
    if not {*IDENTIFYING, IDENTIFIER} & set(columns):
        there = f"; it has {', '.join(header)}" if any(header) else ""
        wanted = ", ".join(IDENTIFYING)
        raise CourseError(f"the roster {path} has none of the columns {wanted}{there}")
    learners, staff = [], 0
    for number, line in lines:
        cells = by_column(columns, line)
        row = Row(number, line, cells, facts_in(cells))
        if broken := [name for name, told in row.facts.items() if "\n" in told and name != "name"]:
            told = f"{broken[0]!r} has a line break; is a quote missing?"
            raise CourseError(f"the roster {path}, line {number}: {told}")
        if any(STAFF.search(row.cells.get(name, "")) for name in ROLES):
            staff += 1
        elif any(row.facts.values()) and row.facts["name"].casefold() not in NO_PERSON:
            learners.append(row)
    if not learners:
        raise CourseError(f"the roster {path} has a header, but no learners")
    possible = [line for _, line in lines if any(POSSIBLE in cell.casefold() for cell in line)]
    names = tuple(name.strip() for name in header)
    return Roster(path, names, tuple(columns), tuple(learners), staff, tuple(*possible[:1]))


def facts_in(cells: dict[str, str]) -> Person:
    """Return what a row says about a person, by the names in FACTS."""
    told = {
        name: next(filter(None, (cells.get(column, "") for column in columns)), "")
        for name, columns in FACTS.items()
    }
    for last, first in SPLIT_NAMES:
        told["name"] = told["name"] or f"{cells.get(first, '')} {cells.get(last, '')}".strip()
    if "@" in told["login"] and not told["email"]:  # many systems use the address as login
        told["email"] = told["login"]
    return told


# --- Moodle's grading worksheet -------------------------------------------------------------------

WORDS = tomllib.loads(Path(__file__).with_name("worksheets.toml").read_text("utf-8"))
WORKSHEET = WORDS["columns"]  # English names, with those of other languages
ENGLISH = {name: english for english, names in WORKSHEET.items() for name in names}
IDENTIFIER = "identifier"  # with the number of a participant
UNNAMED = (IDENTIFIER, "identifiant", "identificador", "identificativo", "identificatie")
WORKSHEETS_OWN = {
    name for name in WORKSHEET if "grade" in name or "(" in name or "feedback" in name
}
NUMBERED = re.compile(r"(\D*[^\d\s] ?)(\d{1,18})")  # German worksheets have no space
NO = {"no", "nein", "non", "nee", "não"}


def english(header: Sequence[str]) -> list[str]:
    """Return the columns' names in lower case, and those of a worksheet in English.

    Other lists have columns such as `id` and `note` too.

    >>> english(["ID", "Bewertung"]), english(["ID", "Note 1"])
    (['identifier', 'grade'], ['id', 'note 1'])
    """
    names = [name.strip().casefold() for name in header]
    known = [ENGLISH.get(name, name) for name in names]
    if names[0] in UNNAMED or (names[0] == "id" and WORKSHEETS_OWN & set(known)):
        return [IDENTIFIER, *known[1:]]
    return names


# --- people.csv -----------------------------------------------------------------------------------


@dataclass
class People:
    """The people of a class.

    path: of people.csv. folders: the names of the folders that are there. rows: all people. by:
    people by a column and the `normal` form of its value. last: the last number that was given.
    """

    path: Path
    folders: set[str] = field(default_factory=set)
    rows: list[Person] = field(default_factory=list)
    by: dict[tuple[str, str], list[Person]] = field(default_factory=lambda: defaultdict(list))
    last: int = 0

    def matching(self, told: Person, *columns: str) -> list[tuple[str, Person]]:
        """Return the people with one of these values in these columns, each with the column."""
        return [
            (column, one)
            for column in columns
            if (value := normal(told.get(column, "")))
            for one in self.by.get((column, value), ())
            if normal(one[column]) == value  # and not only earlier
        ]

    def find(self, column: str, value: str) -> Person | None:
        """Return the only person with a value in a column."""
        found = self.matching({column: value}, column)
        return found[0][1] if len(found) == 1 else None

    def in_section(self, section: str) -> frozenset[str]:
        """Return the people of a section as rows name them; none for "". Raises CourseError."""
        if not section:
            return frozenset()
        wanted = section.casefold()
        cells = [(row, row["section"].casefold()) for row in self.rows]
        # Canvas joins several sections with commas and `and`.
        split = r"\s*[,;|]\s*(?:and\s+)?|\s+and\s+"
        own = [row for row, cell in cells if wanted in (cell, *re.split(split, cell))]
        if not own:
            known = ", ".join(sorted({row["section"] for row in self.rows} - {""})) or "none"
            raise CourseError(f"there is no section {section}; {PEOPLE} has {known}")
        return frozenset(escaped(row["student"]) for row in own)

    def update(self, roster: Roster) -> None:
        """Add what a class list says, and set the person of each row. Raises CourseError."""
        lines: dict[str, int] = {}  # by a person's number
        # People with a known id come first, because an address may be given to a new person.
        for row in sorted(roster.rows, key=lambda row: not self.matching(row.facts, *IDS)):
            try:
                row.person = self.add(row.facts)
                first = lines.setdefault(row.person["number"], row.line)
                if first != row.line:
                    raise ValueError(f"{called(row.person)} is in line {first} too")
            except ValueError as error:
                raise CourseError(f"the roster {roster.path}, line {row.line}: {error}") from None

    def add(self, told: Person, folder: str = "") -> Person:
        """Add what is told about a person, new or known. Raises ValueError with a sentence.

        folder: the name of a new person's folder, if it is not one of the facts.
        """
        person = self.known(told)
        if person is None:
            person = dict.fromkeys(COLUMNS, "")
            person |= {"number": str(self.last + 1), "student": self.folder_for(told, folder)}
            self.rows.append(person)
        for column in IDS:
            if told.get(column) and person[column].casefold() not in ("", told[column].casefold()):
                why = f"has the {column} {person[column]} in {PEOPLE}, and here {told[column]}"
                raise ValueError(f"{called(person)} {why}; correct one of the two")
        person |= {column: value for column, value in told.items() if value}
        self.index(person)
        return person

    def known(self, told: Person) -> Person | None:
        """Return the person who is told about; None for a new one.

        Ids decide, then the address, then the name. Raises ValueError if it is unclear.
        """
        found = self.matching(told, *IDS)
        if others := [one for one in found if one[1] is not found[0][1]]:
            first, second = (f"{told[c]} is {called(one)}" for c, one in (found[0], others[0]))
            raise ValueError(f"this is one person here, but in {PEOPLE} {first} and {second}")
        if found:
            return found[0][1]
        has_ids = any(told.get(column) for column in IDS)
        column = "email" if told.get("email") else "" if has_ids else "name"
        persons = [one for _, one in self.matching(told, column)]
        if not persons:
            return None
        person = persons[0]
        if len(persons) > 1:
            both = f"{called(person)} and {called(persons[1])}"
            raise ValueError(f"{told[column]} may be {both}; a column with an id is needed")
        names = [set(re.findall(r"\w+", one.get("name", "").casefold())) for one in (told, person)]
        if all(names) and not names[0] & names[1]:
            why = f"was {called(person)} so far, and is {told['name']} here"
            raise ValueError(f"{told[column]} {why}; if this is one person, correct {PEOPLE}")
        return person

    def folder_for(self, told: Person, wanted: str) -> str:
        """Return the name of a new person's folder: that of a folder that is there, if possible."""
        facts = [value for column, value in told.items() if value and column != "section"]
        names = [safe(name) for name in ([wanted] if wanted else facts)]
        there = [name for name in names if name in self.folders]
        numbered = (f"{names[0]}_{number}" for number in count(2))
        wishes = chain(there, names, numbered)
        return next(name for name in wishes if ("student", normal(name)) not in self.by)

    def index(self, person: Person) -> None:
        """Make a person known by all columns."""
        self.last = max(self.last, int(person["number"]))
        for column in filter(person.get, COLUMNS[:-1]):
            found = self.by[column, normal(person[column])]
            if person not in found:
                found.append(person)

    def save(self) -> None:
        """Write people.csv. Raises OSError."""
        write_table(self.path, COLUMNS, self.rows)


def called(person: Person) -> str:
    """Return a person's name and folder, for sentences."""
    name, student = person["name"], person["student"]
    return f"{name} ({student})" if name not in ("", student) else student


def read_people(folder: Path) -> People:
    """Return the people in the people.csv next to a folder; nobody without it.

    Raises CourseError with the line if a number, a folder or an id is there twice.
    """
    people = People(folder.absolute().parent / PEOPLE)
    if folder.is_dir():
        people.folders = {path.name for path in folder.iterdir()}
    for line, cells in read_table(people.path, COLUMNS):
        person = {column: cells[column] for column in COLUMNS}
        where = f"{people.path}, line {line}"
        if not person["student"] or not person["number"].isdecimal():
            raise CourseError(f"{where}: a person needs a number and a student, the folder's name")
        if twice := people.matching(person, "number", "student", *IDS):
            column, other = twice[0]
            told = f"the {column} {person[column]} is that of {called(other)} too"
            raise CourseError(f"{where}: {told}")
        people.rows.append(person)
        people.index(person)
    return people


def class_of(folder: Path, roster: Path | None) -> People:
    """Return the people of the class, after an update by a class list. Raises CourseError."""
    people = read_people(folder)
    if roster is not None:
        people.update(read_roster(roster))
        people.save()
    return people
