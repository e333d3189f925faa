"""The page of sources lists every paper and book in the lessons, with a title."""

import re

CITED = re.compile(
    r"([A-Z][A-Za-z-]+\d?)(?: et al\.|(?:, \w+)? (?:&|and) [A-Z]\w+)?,? \(?((?:19|20)\d\d)\b"
)
NO_NAMES = {"The"}  # "The 2014 paper"


def cited_in(text: str) -> set[tuple[str, str]]:
    """(first author, year) of each source that a text names."""
    return {(name, year) for name, year in CITED.findall(text) if name not in NO_NAMES}


def test_how_sources_are_named():
    text = "As in Ab et al. 2017, Cd, Ef and Gh (2015), Ij & Kl 2018, Mn 2019, Op-V2, 2024, in 2020"
    names = {("Ab", "2017"), ("Cd", "2015"), ("Ij", "2018"), ("Mn", "2019"), ("Op-V2", "2024")}
    assert cited_in(text) == names


def test_every_source_of_a_lesson_is_on_the_page(project):
    page = (project.root / "docs" / "reference" / "sources.md").read_text(encoding="utf-8")
    there = {one for line in page.splitlines() if "*" in line for one in cited_in(line)}
    for chapter in project.course.chapters:
        text = project.solution(chapter.name).read_text(encoding="utf-8")
        named = cited_in(re.sub(r"\n# ?", " ", text))
        assert named and named <= there, (chapter.name, named - there)
