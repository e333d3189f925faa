"""The people of a class: `people.csv`, next to SUBMITTED and OUT.

    number,student,name,email,login,id_number,canvas_id,sid,git,section
    1,ada,Ada Lind,ada@uni.edu,ada,s101,7001,,,Lab 1

`collect`, and other commands with `--roster`, add people and what a class list says about them. The
name of a person's folder, `student`, never changes, and a number is given only once. An id belongs
to one person. An address may be given to another person, so it counts only without an id.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

from ..course import CourseError
from ..folders import write_file
from ..sources.finding import PEOPLE
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv, plain, read_table
from .folder_names import safe, same_folder
from .roster import Person, Roster, read_roster

IDS = ("login", "id_number", "canvas_id", "sid", "git")
COLUMNS = ("number", "student", "name", "email", *IDS, "section")


@dataclass
class People:
    """The people of a class.

    path: of people.csv. rows: all people. by: people by a column and its value in lower case.
    folders: the folders that are there. taken: the names of people's folders. last: the last number
    that was given.
    """

    path: Path
    rows: list[Person] = field(default_factory=list)
    by: dict[tuple[str, str], list[Person]] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    last: int = 0

    @property
    def students(self) -> tuple[str, ...]:
        """The names of all folders."""
        return tuple(row["student"] for row in self.rows)

    def find(self, column: str, value: str) -> Person | None:
        """Return the only person with a value in a column."""
        found = self.by.get((column, value.casefold()), []) if value else []
        return found[0] if len(found) == 1 else None

    def in_section(self, section: str) -> frozenset[str]:
        """Return the people of a section as rows name them; none for "". Raises CourseError."""
        if not section:
            return frozenset()
        if not self.rows:
            raise CourseError("--section needs the class list; give it with --roster")
        parts = {row["student"]: sections_of(row["section"].casefold()) for row in self.rows}
        own = [student for student, names in parts.items() if section.casefold() in names]
        if not own:
            known = sorted({row["section"] for row in self.rows if row["section"]})
            raise CourseError(f"there is no section {section}; {PEOPLE} has {', '.join(known)}")
        return frozenset(map(escaped, own))

    def update(self, roster: Roster) -> None:
        """Add what a class list says, and set the person of each row. Raises CourseError."""
        lines: dict[str, int] = {}  # by a person's number
        # People with a known id come first, because an address may be given to a new person.
        for row in sorted(roster.rows, key=lambda row: not self.with_ids(row.facts)):
            try:
                row.person = self.add(row.facts)
                first = lines.setdefault(row.person["number"], row.line)
                if first != row.line:
                    raise ValueError(f"{called(row.person)} is in line {first} too")
            except ValueError as error:
                raise CourseError(f"the roster {roster.path}, line {row.line}: {error}") from None

    def with_ids(self, told: Person) -> list[tuple[str, Person]]:
        """Return the people with one of these ids, each with its column."""
        return [
            (column, one)
            for column in IDS
            if told.get(column)
            for one in self.by.get((column, told[column].casefold()), [])
        ]

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
        """Return the person who is told about; None for a new one. Raises ValueError."""
        found = self.with_ids(told)
        if others := [one for one in found if one[1] is not found[0][1]]:
            first, second = (f"{told[c]} is {called(one)}" for c, one in (found[0], others[0]))
            raise ValueError(f"this is one person here, but in {PEOPLE} {first} and {second}")
        if found:
            return found[0][1]
        if told.get("email"):
            return self.known_by("email", told)
        has_ids = any(told.get(column) for column in IDS)
        return None if has_ids else self.known_by("name", told)

    def known_by(self, column: str, told: Person) -> Person | None:
        """Return the only person with this address or name. Raises ValueError if it is unclear."""
        value = told[column].casefold()
        found = [one for one in self.by.get((column, value), []) if one[column].casefold() == value]
        if len(found) > 1:
            both = f"{called(found[0])} and {called(found[1])}"
            raise ValueError(f"{told[column]} may be {both}; a column with an id is needed")
        names = [words_of(one.get("name", "")) for one in (told, *found)]
        if found and all(names) and not names[0] & names[1]:
            why = f"was {called(found[0])} so far, and is {told['name']} here"
            raise ValueError(f"{told[column]} {why}; if this is one person, correct {PEOPLE}")
        return found[0] if found else None

    def folder_for(self, told: Person, wanted: str = "") -> str:
        """Return the name of a new person's folder: that of a folder that is there, if possible."""
        facts = [value for column, value in told.items() if value and column != "section"]
        names = [safe(name) for name in ([wanted] if wanted else facts)]
        free = [name for name in names if same_folder(name) not in self.taken]
        there = [name for name in free if name in self.folders]
        numbered = (f"{names[0]}_{number}" for number in count(2))
        return next(n for n in chain(there, free, numbered) if same_folder(n) not in self.taken)

    def index(self, person: Person) -> None:
        """Make a person known by all columns."""
        self.taken.add(same_folder(person["student"]))
        self.last = max(self.last, int(person["number"]))
        for column in COLUMNS[:-1]:
            if value := person[column].casefold():
                same = self.by.setdefault((column, value), [])
                if person not in same:
                    same.append(person)

    def save(self) -> None:
        """Write people.csv. Raises CourseError."""
        lines = [[row[column] for column in COLUMNS] for row in self.rows]
        try:
            write_file(self.path, in_csv(COLUMNS, lines).encode("utf-8", "replace"))
        except OSError as error:
            raise CourseError(f"{self.path} cannot be written: {error.strerror}") from None


def called(person: Person) -> str:
    """Return a person's name and folder, for sentences."""
    name, student = person["name"], person["student"]
    return f"{name} ({student})" if name not in ("", student) else student


def sections_of(cell: str) -> list[str]:
    """Return the sections in a cell, which Canvas joins with commas and `and`."""
    return [cell, *re.split(r"\s*[,;|]\s*(?:and\s+)?|\s+and\s+", cell)]


def words_of(name: str) -> set[str]:
    """Return the words of a name in lower case."""
    return set(re.findall(r"\w+", name.casefold()))


def read_people(folder: Path) -> People:
    """Return the people in the people.csv next to a folder; nobody without it.

    Raises CourseError with the line if a number, a folder or an id is there twice.
    """
    people = People(folder.absolute().parent / PEOPLE)
    if folder.is_dir():
        people.folders = {path.name for path in folder.iterdir()}
    for line, cells in read_table(people.path, COLUMNS):
        person = {column: plain(cells[column]) for column in COLUMNS}
        where = f"{people.path}, line {line}"
        if not person["student"] or not person["number"].isdecimal():
            raise CourseError(f"{where}: a person needs a number and a student, the folder's name")
        twice = [c for c in ("number", "student", *IDS) if people.find(c, person[c])]
        if twice:
            other = called(people.find(twice[0], person[twice[0]]) or person)
            raise CourseError(f"{where}: the {twice[0]} {person[twice[0]]} is that of {other} too")
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


@contextmanager
def copy_of(submitted: Path) -> Iterator[Path]:
    """Give a copy of SUBMITTED and people.csv, which is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, submitted.name)
        if submitted.is_dir():
            shutil.copytree(submitted, copy, symlinks=True)
        people = submitted.absolute().parent / PEOPLE
        if people.is_file():
            shutil.copy(people, folder)
        yield copy
