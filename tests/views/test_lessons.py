"""The lessons as one page: with the learner's own progress, without answers, on its own."""

import re
import shutil
from html.parser import HTMLParser

import pytest

from ..kits import FIRST
from ..support import cli

CHAPTER = FIRST[0]
pytestmark = pytest.mark.slow


class Sources(HTMLParser):
    """The resources, tags, alternative texts and the text of a page."""

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


@pytest.fixture(scope="module")
def page(own) -> str:
    return (own / "lessons.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_elsewhere(page):
    seen = Sources(page)
    assert {"math", "img", "table", "nav"} <= seen.tags
    assert all(one.startswith(("data:image/png;base64,iVBOR", "data:,")) for one in seen.loads)
    assert all(one.startswith(("#", "https://")) for one in seen.links)
    assert "url(" not in page and "@import" not in page
    assert len(seen.texts) >= 6 and all(len(text) > 20 for text in seen.texts)


def test_the_page_holds_every_exercise_and_no_answer(project, kit):
    page = (kit / "lessons.html").read_text(encoding="utf-8")
    text = Sources(page).text
    chapters = project.course.chapters
    assert all(f'id="{one.name}"' in page for chapter in chapters for one in chapter.exercises)
    assert text.count("raise NotImplementedError") > 30
    for chapter in chapters:
        lesson = project.solution(chapter.name).read_text(encoding="utf-8")
        cells = re.split(r"^# %%.*?(?: exercise=\"(\w+)\")?$", lesson, flags=re.MULTILINE)
        for name, cell in zip(cells[1::2], cells[2::2], strict=True):
            if not name or chapter.exercise(name).like:
                continue
            for answer in re.findall(r"### BEGIN SOLUTION\n(.+?)\s*### END", cell, re.DOTALL):
                assert max(answer.splitlines(), key=len).strip() not in text


def test_the_page_shows_progress_where_to_go_on_and_what_is_wrong_there(own, page):
    assert re.search(r'class="exercise done" id="attention_scores"', page)
    assert "5 of 6 done" in page and "✓" in page and "Go on here" in page
    assert '<a href="#softmax">softmax</a>' in page and page.count('<div class="note') == 1
    block = page.split('id="softmax"')[1].split("</section>")[0]
    assert "&lt;b&gt;no&lt;/b&gt;" in block and "<b>no</b>" not in block
    assert f"{CHAPTER}.py" in block and "0 of " in block
    assert 'href="#top"' in page and 'id="top"' in page


def test_without_a_course_or_notebooks_it_says_one_sentence(own, tmp_path):
    done = cli("read", "--no-show", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "go to the course's folder first" in done.stderr and not list(tmp_path.iterdir())
    bare = shutil.copytree(own, tmp_path / "kit", ignore=shutil.ignore_patterns("*.ipynb"))
    done = cli("read", "--no-show", cwd=bare)
    assert done.returncode == 2 and "to read" in done.stderr and "Traceback" not in done.stderr
