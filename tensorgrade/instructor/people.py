"""The people of a class: `people.csv`, next to SUBMITTED and OUT.

    number,student,name,email,login,id_number,canvas_id,sid,git,section
    1,ada,Ada Lind,ada@uni.edu,ada,s101,7001,,,Lab 1

`collect`, and other commands with `--roster`, add people and what a class list says about them. The
name of a person's folder, `student`, never changes, and a number is given only once. An id belongs
to one person. An address may be given to another person, so it counts only without an id.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

from ..course import CourseError
from ..sources.finding import OURS, PEOPLE
from ..sources.submitted_files import STAMP, escaped
from ..views.csv_cells import read_table, write_table
from .roster import Person, Roster, read_roster

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

    @property
    def students(self) -> tuple[str, ...]:
        """The names of all folders."""
        return tuple(row["student"] for row in self.rows)

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
        if not self.rows:
            raise CourseError("--section needs the class list; give it with --roster")
        wanted = section.casefold()
        cells = [(row, row["section"].casefold()) for row in self.rows]
        # Canvas joins several sections with commas and `and`.
        split = r"\s*[,;|]\s*(?:and\s+)?|\s+and\s+"
        own = [row for row, cell in cells if wanted in (cell, *re.split(split, cell))]
        if not own:
            known = sorted({row["section"] for row in self.rows if row["section"]})
            raise CourseError(f"there is no section {section}; {PEOPLE} has {', '.join(known)}")
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
        """Write people.csv. Raises CourseError."""
        try:
            write_table(self.path, COLUMNS, self.rows)
        except OSError as error:
            raise CourseError(f"{self.path} cannot be written: {error.strerror}") from None


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
