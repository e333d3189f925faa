"""The class report: right numbers, nothing from outside, and no learner's text is obeyed."""

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from rich.console import Console

from tensorgrade.attempts.verdict import TROUBLE
from tensorgrade.cli.instructors import report
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor.class_terminal import exercise_table, print_class, troubles
from tensorgrade.instructor.groups import Group
from tensorgrade.instructor.report.page import (
    STATES,
    bins,
    class_view,
    messages_in,
    render,
    write_report,
)
from tensorgrade.messages.not_graded import NoChapterFile, NothingSubmitted

from ..needs import browser, needs
from .runs import put_rows

COURSE = load_course(Path(__file__).parents[2] / "graders")
CHAPTER = COURSE.chapters[0]
HOSTILE = [
    "<script>document.title='ACHIEVED'</script>",
    "\"><img src=x onerror=document.title='ACHIEVED'>",
    "' onmouseover='x' style='position:fixed",
    "</style><style>*{display:none}</style>",
    "{{ 7 * 7 }}{% for x in y %}",
    "]]><svg onload=document.title='ACHIEVED'>",
    "\u202egnp.exe <bdo dir=rtl>",
    "</title></head><body onload=x>",
    "javascript:document.title='ACHIEVED'",
    "\x00\x1b[31m\udce9",
]

QUIET = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
           --disable-component-update --disable-sync""".split()


def row(student: str, number: int = 0, status: str = "passed", share: float = 1.0, **more) -> dict:
    """One row about the n-th exercise of the first chapter."""
    exercise = CHAPTER.exercises[number]
    found = {
        "student": student,
        "chapter": CHAPTER.name,
        "exercise": exercise.name,
        "status": status,
        "points": exercise.points * share,
        "max_points": float(exercise.points),
        "mistakes": [],
        "message": "Right.",
        "isolation": "full",
    }
    return found | more


def hand_in(student: str, **more) -> list[dict]:
    """A row for every exercise of the first chapter."""
    return [row(student, number, **more) for number in range(len(CHAPTER.exercises))]


class Page(HTMLParser):
    """Parse a page as a browser does: tags, attributes by name, ids and texts."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.names, self.links, self.ids, self.text = set(), set(), set(), [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.names |= {name for name, _ in attributes}
        self.links |= {value for name, value in attributes if name in ("href", "src")}
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        self.text += data


def page_of(rows: list[dict], identical=(), **options) -> str:
    return render(class_view(COURSE, rows, list(identical)), **options)


def hostile_class() -> tuple[list[dict], list[dict]]:
    """Learners whose names, messages and mistakes are attacks, with every status."""
    rows = []
    for number, text in enumerate(HOSTILE):
        for status in STATES:
            rows.append(
                row(
                    f"{number} {status} {text}",
                    number % 5,
                    status,
                    0.2,
                    message=text,
                    mistakes=[] if status in TROUBLE else [text],
                )
            )
    names = sorted({row["student"] for row in rows})
    return rows, [{"chapter": CHAPTER.name, "students": names}]


def test_what_learners_wrote_is_text_and_nothing_else():
    calm = Page(
        page_of(
            hand_in("ada")
            + [row("bao", 0, s, 0.1, mistakes=[] if s in TROUBLE else ["m"]) for s in STATES],
            [{"chapter": CHAPTER.name, "students": ["ada", "bao"]}],
        )
    )
    wild = Page(page_of(*hostile_class()))
    assert wild.tags == calm.tags and wild.names == calm.names
    for text in HOSTILE[:-1]:
        assert text in wild.text, "the page shows the text unchanged"


def test_the_page_needs_nothing_but_itself():
    page = Page(page_of(*hostile_class()))
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert all(link.startswith("#learner-") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert not any(name.startswith("on") for name in page.names)
    assert not re.search(r"url\((?!#)|@import|https?:", page_of(hand_in("ada")))


def test_hidden_names_are_nowhere_in_the_page():
    rows = hand_in("ada-lovelace", status="failed", share=0.1) + hand_in("bao-o-connor")
    page = page_of(
        rows,
        [{"chapter": CHAPTER.name, "students": ["ada-lovelace", "bao-o-connor"]}],
        hide_names=True,
    )
    assert "lovelace" not in page and "connor" not in page
    assert "Learner 1" in page and "Learner 2" in page
    assert "lovelace" in page_of(rows)


def test_numbers_without_names_do_not_follow_the_alphabet():
    people = class_view(COURSE, [row(f"s{n:03}") for n in range(50)], [])["people"]
    numbers = [person.number for person in people]
    assert sorted(numbers) == list(range(1, 51)) and numbers != sorted(numbers)


def test_exercises_are_counted_as_passed_tried_and_never_begun():
    rows = [
        *hand_in("a"),
        *hand_in("b", status="not_attempted", share=0),
        row("c", 1, "failed", 0),
        row("d", 1, "timeout", 0),
        row("e", 1, "partial", 0.5),
    ]
    ((_, counts),) = class_view(COURSE, rows, [])["chapters"]
    first, second = counts[:2]
    assert (first["passed"], first["tried"], first["never"]) == (
        1,
        0,
        4,
    )  # c, d, e have no row for it
    assert (second["passed"], second["tried"], second["never"]) == (1, 3, 1)
    assert "passed, 3 tried, 1 not begun" in page_of(rows)


@pytest.mark.parametrize(
    "share, place", [(0, 0), (0.0999, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.999, 9), (1.0, 9)]
)
def test_shares_fall_into_their_bin(share, place):
    assert bins([share]) == [int(n == place) for n in range(10)]


def test_a_mistake_counts_learners_not_rows():
    rows = [
        row("ada", n, "failed", 0, mistakes=["no_scale"], message="No scale.") for n in range(3)
    ]
    rows += [
        row("bao", 0, "failed", 0, mistakes=["no_scale", "transposed"], message="Both. Of them.")
    ]
    more = "No scale. Your own `softmax` is called here."  # of one learner alone
    rows.insert(0, row("bao", 1, "failed", 0, mistakes=["no_scale"], message=more))
    rows.append(row("cem", 1, "failed", 0, mistakes=["no_scale"], message=more))
    first, second = class_view(COURSE, rows, [])["mistakes"]
    assert (first["name"], first["count"], first["message"]) == ("no_scale", 3, "No scale.")
    assert (second["name"], second["count"]) == ("transposed", 1)


def test_those_with_few_points_are_listed_fewest_first():
    rows = (
        hand_in("good")
        + hand_in("low", status="partial", share=0.4)
        + hand_in("lower", status="failed", share=0)
    )
    helped = class_view(COURSE, rows, [])["helped"]
    assert [entry["person"].name for entry in helped["listed"]] == ["lower", "low"]
    assert helped["listed"][0]["why"] == f"{len(CHAPTER.exercises)} wrong"


def test_trouble_is_reported_once_for_a_file_with_its_reason():
    rows = hand_in("ada", status="error", share=0, message="It is not UTF-8.") + hand_in("bao")
    (trouble,) = class_view(COURSE, rows, [])["trouble"]
    assert trouble["person"].name == "ada" and trouble["message"] == "It is not UTF-8."
    assert trouble["exercises"] == [e.name for e in CHAPTER.exercises]


def test_a_known_mistake_that_raises_is_no_trouble_on_the_page_and_on_the_terminal():
    named = {"mistakes": ["transposed"], "message": "Turn the keys."}
    rows = [row("ada", 0, "error", 0.0, **named), row("bao", 1, "error", 0.0, message="It raises.")]
    view = class_view(COURSE, rows, [])
    assert [entry["person"].name for entry in view["trouble"]] == ["bao"] and view["troubled"] == 1
    said = " ".join(troubles(rows))
    assert "1 file could not be graded as usual" in said and "bao/" in said and "ada/" not in said
    whys = {entry["person"].name: entry["why"] for entry in view["helped"]["listed"]}
    assert whys == {"ada": "1 wrong", "bao": "1 could not be graded"}


def test_no_name_is_taken_for_markup_on_the_terminal():
    console = Console(record=True, width=200)
    named = {"message": "It raises [/red] \\[/] :smile:"}
    print_class(console, COURSE, [row("[red]ada\\[/]", 0, "error", 0.0, **named)])
    said = console.export_text()
    assert "[red]ada\\[/]/" in said and "raises [/red] \\[/] :smile:" in said


def test_a_mistake_is_described_by_the_courses_own_words(tmp_path):
    more = "No scale. Your own `softmax` is called here."
    rows = [row("ada", 0, "failed", 0.0, mistakes=["no_scale"], message=more)]
    put_rows(tmp_path, rows)
    assert "Your own" in Page(write_report(tmp_path, COURSE).read_text("utf-8")).text
    messages = {"no_scale": "There is no scale at all."}
    page = Page(write_report(tmp_path, COURSE, messages=messages).read_text("utf-8")).text
    assert page.count("There is no scale at all.") == 1 and page.count(more.split("`")[0]) == 1
    references = Path(__file__).parents[2] / "graders" / "references"
    assert "not divided" in " ".join(messages_in(references).values())


def test_the_terminals_table_is_whole_in_eighty_columns():
    rows = [
        {
            "exercise": one.name,
            "status": "passed",
            "points": one.points,
            "max_points": one.points,
        }
        for chapter in COURSE.chapters
        for one in chapter.exercises
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(exercise_table(COURSE, rows))
    shown = console.export_text()
    assert "…" not in shown and all(one["exercise"] in shown for one in rows)


def test_who_is_excused_is_in_no_mean_of_the_terminals_table():
    one = {"exercise": "softmax", "status": "passed", "points": 8.0, "max_points": 10.0}
    excused = one | {"points": 0.0, "max_points": 0.0}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(exercise_table(COURSE, [one, excused]))
    assert console.export_text().split()[-9:] == ["softmax", "1", *"······", "8.0/10"]


def test_grading_without_isolation_is_said():
    assert "graded without isolation" in page_of(hand_in("ada", isolation="none"))
    assert "without isolation" not in page_of(hand_in("ada"))


def test_every_status_has_a_mark_and_words_of_its_own():
    marks, words = zip(*STATES.values(), strict=True)
    assert len(set(marks)) == len(set(words)) == len(STATES)
    page = Page(page_of([row("ada", 0, status, 0.1) for status in STATES])).text
    assert all(mark in page and word in page for mark, word in STATES.values())


def test_a_folder_of_results_becomes_a_page(tmp_path):
    rows, _ = hostile_class()
    with pytest.raises(CourseError, match="holds no results"):
        write_report(tmp_path, COURSE)
    rows = [
        r
        | {
            "student": r["student"].encode("utf-8", "replace").decode(),
            "message": r["message"].encode("utf-8", "replace").decode(),
            "mistakes": [],
        }
        for r in rows
    ]
    put_rows(tmp_path, [*rows, row("ada", chapter="gone")])
    path = write_report(tmp_path, COURSE)
    assert path.read_text("utf-8").lstrip().startswith("<!doctype html>")
    assert not (tmp_path / "report.tmp").exists()


@needs("Chromium")
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_it_is_quiet_readable_and_printable(tmp_path, scheme):
    path = tmp_path / "report.html"
    view = class_view(COURSE, *hostile_class())
    code = "def softmax(x):\n    return x  # " + "and so on " * 40
    view["groups"] = [Group("klm", "softmax", ("ada",), "Wrong.", code)]
    path.write_bytes(render(view).encode("utf-8", "replace"))
    with sync_playwright() as engine:
        window = engine.chromium.launch(executable_path=browser(), args=QUIET)
        tab = window.new_page(color_scheme=scheme, viewport={"width": 400, "height": 900})
        heard = []
        tab.on("console", lambda message: heard.append(message.text))
        tab.on(
            "request",
            lambda request: heard.append(request.url) if request.url != path.as_uri() else None,
        )
        tab.goto(path.as_uri())
        assert heard == [] and tab.title() == f"{COURSE.title}: the class"
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "no scrolling sideways"
        narrow = (
            "[...document.querySelectorAll('.rows td')].filter(c => c.clientWidth < 200).length"
        )
        assert tab.evaluate(narrow) == 0, "every cell of a table has room for words"
        broken = (
            "[...document.querySelectorAll('.bars code')].filter(c => c.offsetHeight > 30).length"
        )
        assert tab.evaluate(broken) == 0, "each exercise's name is on one line"
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 384) == (scheme == "dark")
        assert tab.locator(".name").first.is_visible()
        tab.check("#hide")
        assert not any(name.is_visible() for name in tab.locator(".name").all())
        assert tab.locator(".alias").first.is_visible()
        assert not tab.locator("article.card").first.is_visible(), "closed until somebody asks"
        tab.emulate_media(media="print")
        assert not tab.locator(".learners").first.is_visible(), "the class alone"
        tab.emulate_media(media="screen")
        tab.check("#all")
        tab.emulate_media(media="print")
        assert tab.locator("article.card").first.is_visible(), "paper cannot be opened"
        cut_off = "[...document.querySelectorAll('pre')].filter(p => p.scrollWidth > p.clientWidth)"
        assert tab.evaluate(f"{cut_off}.length") == 0, "and not moved sideways"
        tab.emulate_media(media="screen")
        assert (
            tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)") is None
        )
        assert tab.evaluate(f"{cut_off}.length") == 1
        window.close()


def moved(student: str, why: str = "other graders") -> dict:
    """A record of a run that moved one row."""
    one = row(student)
    about = {name: one[name] for name in ("student", "chapter", "exercise")}
    change = {"points": [0.0, 5.0], "status": ["failed", "passed"], "why": why}
    totals = {"learners": 2, "points": 5.0, "most": 20.0, "passed": 1, "rows": 4}
    return {
        "at": "2027-01-15 12:00:00 UTC",
        "totals": totals,
        "came": [],
        "gone": [],
        "moved": [about | change],
    }


def test_what_moved_is_shown_and_names_are_hidden_there_too():
    rows = hand_in("ada-lovelace")
    history = [moved("ada-lovelace", "another file"), moved("ada-lovelace")]
    page = Page(render(class_view(COURSE, rows, [], history=history)))
    assert "1 result (other graders)" in page.text and "0 → 5" in page.text
    assert "another file" not in page.text, "only what the last run moved"
    assert "Run by run" in page.text and "25%" in page.text
    hidden = render(class_view(COURSE, rows, [], True, history), hide_names=True)
    assert "lovelace" not in hidden and "0 → 5" in hidden
    assert "<h2>Changes" not in page_of(rows)


def test_nothing_handed_in_is_no_attempt_and_is_called_so():
    missing = hand_in("bao", status="not_attempted", share=0.0, message_id=NothingSubmitted.id)
    view = class_view(COURSE, hand_in("ada") + missing, [])
    assert (view["submissions"], view["missing"]) == (1, 1)
    assert view["helped"]["listed"][0]["why"] == "no submission for 1 chapter"
    page = Page(render(view))
    assert "no submission" in page.text and "1 submitted file; 1 missing" in page.text
    _, counts = view["chapters"][0]
    assert {(c["passed"], c["tried"], c["never"]) for c in counts} == {(1, 0, 1)}


def test_who_has_no_file_for_the_chapter_has_not_handed_one_in():
    without = hand_in("bob", status="error", share=0.0, message_id=NoChapterFile.id, submitted=None)
    raises = hand_in("chi", status="error", share=0.0, message="It raises.", submitted=None)
    view = class_view(COURSE, hand_in("ada") + without + raises, [])
    assert (view["submissions"], view["missing"], view["without_file"]) == (2, 0, 1)
    page = Page(render(view))
    assert "from 2 submitted files; 1 without the chapter's file." in page.text


def test_what_is_between_backticks_is_code_on_every_page():
    told = "`head_dim` is meant; <script> and ` are not."
    wrong = row("ada", 0, "failed", 0.0, mistakes=["no_scale"], message=told)
    broken = row("bao", 1, "error", 0.0, message=told)
    for page in (page_of([wrong, broken]), page_of([wrong, broken], hide_names=True)):
        assert page.count("<code>head_dim</code> is meant; &lt;script&gt; and ` are not.") == 4
        assert "`head_dim`" not in page and "script" not in Page(page).tags


def test_late_work_is_called_late():
    late = {"submitted": "2027-01-15 12:00:00 UTC", "late_seconds": 7200.0, "penalty": 1.0}
    page = Page(page_of(hand_in("ada", **late) + hand_in("bao")))
    lost = len(CHAPTER.exercises)  # a point of each
    assert f"2 hours late: {lost} points less" in page.text and "1came late" in page.text


def test_equal_files_are_listed_by_chapter_and_the_largest_group_first():
    first, second = COURSE.chapters[0].name, COURSE.chapters[1].name
    rows = [row(name) for name in ("ada", "bao", "cy")]
    groups = [(second, ["ada", "bao"]), (first, ["ada", "cy"]), (first, ["ada", "bao", "cy"])]
    view = class_view(COURSE, rows, [{"chapter": c, "students": s} for c, s in groups])
    listed = [(g["chapter"], [p.name for p in g["people"]]) for g in view["identical"]]
    assert listed == [groups[2], groups[1], groups[0]]


def test_similar_answers_are_not_promised_for_a_page_that_is_updated(tmp_path):
    with pytest.raises(CourseError, match="--alike compares files once"):
        report(tmp_path, watch=True, alike=tmp_path)


def test_chapters_have_averages_and_the_hardest_exercises_come_first():
    rows = hand_in("ada") + hand_in("bao", late_seconds=60.0, penalty=0.0)
    rows[1] |= {"points": 0.0, "status": "failed", "mistakes": ["no_scale"]}
    view = class_view(COURSE, rows, [])
    (one,) = view["averages"]
    assert (one["submitted"], one["late"], one["missing"]) == (2, 1, 0)
    assert one["share"] == 1 - rows[1]["max_points"] / (2 * CHAPTER.points)
    hard = {"name": rows[1]["exercise"], "share": 0.5, "mistakes": ["no_scale"]}
    assert view["hardest"] == [hard]
    page = render(view)
    assert "Teach again" in page and "2 submitted, 1 late" in page
