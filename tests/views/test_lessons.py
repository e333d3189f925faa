"""Lessons in three forms from one source: script, notebook, page. Each stands alone."""

import json
import re
import struct
from html.parser import HTMLParser

import pytest

from tensorgrade.attempts.results import CheckResult, Rule
from tensorgrade.author.building.notebooks import notebook_text
from tensorgrade.author.building.script import read_script, readable, stub_text
from tensorgrade.course import CourseError
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind
from tensorgrade.messages.message import Plain
from tensorgrade.messages.verdicts import EarlierIsWrong
from tensorgrade.views.formulas import in_mathml
from tensorgrade.views.lessons import exercise_block, lessons_page

from ..commands import run

# Words by which a text points at what only a running notebook shows.
POINTS_AT = re.compile(
    r"here are the|each bar|that table|printed above|printed below|the picture above|the plot"
    r"|last lines|the output above|heatmap|the notebook does",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def scripts(project):
    return {c.name: read_script(project.solution(c.name)) for c in project.course.chapters}


@pytest.fixture(scope="module")
def root(project, scripts, tmp_path_factory):
    """A folder like the kit's, with the notebooks of today's sources."""
    made = tmp_path_factory.mktemp("kit")
    (made / "notebooks").mkdir()
    for chapter in project.course.chapters:
        text = notebook_text(scripts[chapter.name], chapter)
        (made / "notebooks" / f"{chapter.name}.ipynb").write_text(text, encoding="utf-8")
    return made


@pytest.mark.slow
def test_a_script_does_not_speak_of_what_only_a_notebook_shows(scripts):
    assert POINTS_AT.search("In one draw each bar is either gone")
    for name, script in scripts.items():
        text = " ".join(stub_text(script).replace("\n# ", " ").split())
        assert [m[0] for m in POINTS_AT.finditer(text)] == [], name


def test_a_script_holds_no_tex_and_tells_its_pictures(scripts):
    for script in scripts.values():
        text = stub_text(script)
        assert "$$" not in text and "\\frac" not in text and ".png" not in text
        assert "[Picture: " in text


def test_words_replace_a_picture():
    assert readable("![Two arrows.](pictures/angle.png)") == "[Picture: Two arrows.]"
    assert readable("![elsewhere](other/angle.png)") == "![elsewhere](other/angle.png)"


def test_every_picture_is_in_its_notebook(project, scripts, root):
    for chapter in project.course.chapters:
        path = root / "notebooks" / f"{chapter.name}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        named = [
            n for c in cells for n in re.findall(r"attachment:([\w.-]+)", "".join(c["source"]))
        ]
        attached = [name for cell in cells for name in cell.get("attachments", {})]
        assert named and named == attached


def test_a_picture_that_is_not_there_is_said(scripts, project, tmp_path):
    chapter = project.course.chapters[0]
    script = scripts[chapter.name]
    with pytest.raises(CourseError, match="a picture of a lesson"):
        notebook_text(type(script)(script.notebook, tmp_path), chapter)


def test_every_drawing_has_its_picture_at_twice_its_size(project):
    folder = project.root / "solutions" / "pictures"
    drawings = sorted(folder.glob("*.svg"))
    assert len(drawings) >= 6
    for drawing in drawings:
        size = re.search(r'width="(\d+)" height="(\d+)"', drawing.read_text(encoding="utf-8"))
        drawn = struct.unpack(">II", drawing.with_suffix(".png").read_bytes()[16:24])
        assert drawn == (2 * int(size[1]), 2 * int(size[2])), drawing.name


def test_every_chapter_ends_with_what_one_can_do(scripts):
    for name, script in scripts.items():
        assert len(script.ending) > 60, name


class Sources(HTMLParser):
    """Return the resources, tags, alternative texts and the text of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.loads, self.links, self.tags, self.texts = [], [], set(), []
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "img":
            self.texts.append(dict(attributes).get("alt") or "")
        found = self.links if tag == "a" else self.loads  # a browser does not load links on its own
        found += [v for k, v in attributes if k in ("src", "href", "srcset")]


@pytest.mark.slow
def test_the_page_needs_nothing_from_elsewhere(project, root):
    page = lessons_page(project.course, root, {})
    seen = Sources(page)
    assert {"math", "img", "table", "nav"} <= seen.tags
    assert all(one.startswith(("data:image/png;base64,iVBOR", "data:,")) for one in seen.loads)
    assert all(one.startswith(("#", "https://")) for one in seen.links)
    assert "url(" not in page and "@import" not in page
    assert len(seen.texts) >= 6 and all(len(text) > 20 for text in seen.texts)


@pytest.mark.slow
def test_the_page_holds_every_exercise_and_no_answer(project):
    page = lessons_page(project.course, project.root, {})  # of the released notebooks
    text = Sources(page).text
    names = [e.name for chapter in project.course.chapters for e in chapter.exercises]
    assert all(f'id="{name}"' in page for name in names)
    chapters = [(c.name, read_script(project.solution(c.name))) for c in project.course.chapters]
    written = [
        cell.source
        for chapter, script in chapters
        for name, cell in script.exercises.items()
        if not project.bug(chapter, name)  # what is given of those is in tests/course/test_bugs.py
    ]
    assert text.count("raise NotImplementedError") >= len(written) > 30
    for source in written:
        for answer in re.findall(
            r"### BEGIN SOLUTION\n(.+?)\s*### END SOLUTION", source, re.DOTALL
        ):
            assert max(answer.splitlines(), key=len).strip() not in text


@pytest.mark.slow
def test_the_page_shows_the_learners_own_progress(project, root):
    right = {"softmax": [CheckResult("softmax", 7, True)]}
    page = lessons_page(project.course, root, right)
    assert re.search(r'class="exercise done" id="softmax"', page)
    assert "1 of 6 done" in page and "✓" in page
    assert "1 of 6 done" not in lessons_page(project.course, root, {})


@pytest.mark.slow
def test_the_page_says_where_to_go_on_and_what_is_wrong_there(project, root):
    finding = Finding(
        "Is a <sum> right?",
        Diagnosis(Kind.VALUES, Plain(12 * "the values and " + "values differ")),
    )
    wrong = {
        "attention_scores": [CheckResult("attention_scores", 5, True)],
        "softmax": [CheckResult("softmax", 7, False, finding=finding)],
    }
    page = lessons_page(project.course, root, wrong)
    assert '<a href="#softmax">softmax</a>' in page and page.count('<div class="note') == 1
    own = page.split('id="softmax"')[1].split("</section>")[0]
    assert "Is a &lt;sum&gt; right?" in own and "0 of 1 check passed" in own
    assert "ch1_simplified_attention.py" in own and "values differ.</b>" in own
    assert 'href="#top"' in page and 'id="top"' in page
    untried = lessons_page(project.course, root, {})
    assert "Go on here" not in untried and '<div class="note' not in untried


def test_a_right_exercise_that_waits_for_an_earlier_one_is_not_called_wrong(project, tmp_path):
    exercise = project.course.chapters[0].exercises[0]
    found = Finding("", Diagnosis(Kind.FACT, EarlierIsWrong("softmax")))
    check = CheckResult(exercise.name, 5.0, False, "", found, 5.0, Rule.EARLIER)
    block = exercise_block(exercise, "", [check], tmp_path / "ch1.py")
    assert block.standing == "right, but waits for `softmax`"


def test_a_formula_is_cut_at_wide_gaps_only():
    told: list[str] = []
    in_mathml(
        r"$$y = x, \qquad x > 0 \; z$$ and $a \quad b$", lambda one, shown: told.append(one) or ""
    )
    assert [one.count("<math") for one in told] == [2, 1]


def test_without_notebooks_one_sentence_says_so(project, tmp_path):
    with pytest.raises(CourseError, match="to read"):
        lessons_page(project.course, tmp_path, {})


@pytest.mark.slow
def test_the_command_checks_and_writes_the_page(tmp_path):
    out = tmp_path / "page.html"
    done = run("tensorgrade.cli", "read", "solutions", "--no-show", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "6 of 6 done" in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_elsewhere_the_command_says_one_sentence(tmp_path):
    done = run("tensorgrade.cli", "read", "--no-show", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "go to the course's folder first" in done.stderr and not list(tmp_path.iterdir())
