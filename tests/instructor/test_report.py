"""The class report: right numbers, nothing from outside, and no learner's text is obeyed."""

import re
from html.parser import HTMLParser

import pytest
from playwright.sync_api import sync_playwright

from ..support import browser, needs
from .runs import CH1, COURSE, chapter_rows, put_rows, row, squeezed

pytestmark = pytest.mark.slow
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
MARKS = {
    "passed": ("✓", "right"),
    "partial": ("◐", "partly right"),
    "failed": ("✗", "wrong"),
    "not_attempted": ("○", "not begun"),
    "error": ("⚠", "raises an error"),
    "timeout": ("∞", "timed out"),
    "killed": ("⊘", "was killed"),
}
TROUBLE = ("error", "timeout", "killed")
QUIET = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
           --disable-component-update --disable-sync""".split()


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


def hostile_class(texts=tuple(HOSTILE)) -> list[dict]:
    """Return rows of learners whose names, messages and mistakes are these, with every status."""
    rows = []
    for number, text in enumerate(text.encode("utf-8", "replace").decode() for text in texts):
        for status in MARKS:
            told = {"message": text, "mistakes": [] if status in TROUBLE else [text]}
            rows.append(row(f"{number} {status} {text}", number % 5, status, 0.2, **told))
    return rows


def part(text: str, title: str, end: str) -> str:
    """Return the part of a page between two titles."""
    return text.partition(f" {title} ")[2].partition(f" {end} ")[0]


def test_what_learners_wrote_is_text_and_the_page_needs_nothing_else(term):
    put_rows(term.out, hostile_class(["calm"] * len(HOSTILE)))
    calm = Page(term.page())
    put_rows(term.out, [*hostile_class(), row("ada", chapter="gone")])
    wild = Page(term.page())
    assert wild.tags == calm.tags and wild.names == calm.names
    for text in HOSTILE[:-1]:
        assert text in wild.text, "the page shows the text unchanged"
    assert not wild.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert {link[1:] for link in wild.links} <= set(wild.ids)
    assert not any(name.startswith("on") for name in wild.names)
    put_rows(term.out, chapter_rows("ada"))
    assert not re.search(r"url\((?!#)|@import|https?:", term.page())


def test_the_page_counts_learners_exercises_and_mistakes(term):
    term.settings(deadlines={CH1: "2027-01-15 10:00 UTC"}, share_a_day=0.2)
    late = {"submitted": "2027-01-15 12:00:00 UTC"}
    nothing = {"status": "not_attempted", "share": 0, "message_id": "nothing_submitted"}
    other = {"status": "error", "share": 0, "message_id": "no_chapter_file"}
    more = "No scale. Your own `softmax` is called here."
    markup = "It raises [/red] \\[/] :smile: `head_dim` <script>"
    rows = [
        *chapter_rows("good"),
        *chapter_rows("late", **late),
        *chapter_rows("low", status="partial", share=0.4),
        *chapter_rows("lower", status="failed", share=0),
        *chapter_rows("stub", status="not_attempted", share=0),
        *chapter_rows("missing", **nothing),
        *chapter_rows("bad", status="error", share=0, message="It is not UTF-8."),
        *chapter_rows("nofile", submitted=None, **other),
        row("ada", 0, "failed", 0, mistakes=["no_scale"], message="No scale."),
        row("ada", 1, "failed", 0, mistakes=["no_scale"], message="No scale."),
        row("bao", 1, "error", 0, mistakes=["no_scale", "transposed"], message=more),
        row("[red]cy\\[/]", 2, "error", 0.0, message=markup),
    ]
    put_rows(term.out, rows)
    page = term.page()
    text = squeezed(page.partition("</style>")[2])
    assert "from 9 submitted files; 1 missing; 1 without the chapter's file" in text
    assert "11 learners" in text and "1 came late" in text
    assert "25% of the points on average; 10 submitted, 1 late, 1 missing" in text
    hardest = part(text, "Teach again", "Exercises").partition("mistakes ")[2]
    assert hardest.startswith("softmax_ naive 30% no_scale, transposed softmax 34%")
    counts = text.partition("1 late, 1 missing ")[2]
    assert counts.startswith("attention_ scores 2 5 4 softmax_ naive 2 6 3"), "passed, tried, not"
    mistakes = part(text, "Most frequent mistakes mistake", "Who may need help")
    assert "no_ scale 2 The scores" in mistakes and "transposed 1" in mistakes
    helped = part(text, "Who may need help", "Could not be graded as usual")
    names = re.findall(r"(\S+) Learner \d+ \d+%", helped)
    assert names[-1] == "low" and {"good", "late"}.isdisjoint(names) and len(names) == 9
    assert "repeatedly: no_scale" in helped and "no submission for 1 chapter" in helped
    troubled = part(text, "Could not be graded as usual", "Identical files")
    assert "not UTF-8" in troubled and " bao " not in troubled, "a known mistake is no trouble"
    assert "2 hours late: 7.8 points less" in text
    assert "raises [/red] \\[/] :smile: head_dim &lt;script&gt;" in text
    assert page.count("<code>head_dim</code>") == 2
    assert all(mark in text and word in text for mark, word in MARKS.values())
    assert "without isolation" not in text
    put_rows(term.out, chapter_rows("ada", isolation="none"))
    assert "graded without isolation" in term.page()


def test_the_terminal_shows_the_class_in_eighty_columns_and_obeys_no_name(term, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "[red]ada [bold]:smile:"
    term.put(name, 0.5)
    for chapter in COURSE.chapters:
        term.put("bao", 1.0, chapter=chapter.name)
    term.put("chi", 0.0)
    term.write("overrides.csv", "student,exercise,points,reason", f"chi,{CH1},excused,ill")
    term.grade()
    term.fails = True
    term.put(name, 0.5, text="again")
    said = term.grade(refused=True).said
    assert f"{name}/{CH1}" in said
    table = said[: said.index("Most frequent") if "Most frequent" in said else len(said)]
    shown = [line.split()[0] for line in table.splitlines() if re.search(r"/\d+$", line)]
    assert shown == [e.name for chapter in COURSE.chapters for e in chapter.exercises]
    (softmax,) = [line for line in said.splitlines() if line.startswith("softmax ")]
    assert softmax.split()[1] == "1", "who is excused is in no mean"


@needs("Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_it_is_quiet_readable_and_printable(term, scheme):
    put_rows(term.out, hostile_class())
    path = term.out / "report.html"
    code = f"<pre class='scroll'>return x  # {'and so on ' * 40}</pre>"
    path.write_text(term.page().replace("</body>", f"{code}</body>"), encoding="utf-8")
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

        def count(selector: str, condition: str) -> int:
            elements = f"[...document.querySelectorAll('{selector}')]"
            return tab.evaluate(f"{elements}.filter(e => {condition}).length")

        assert heard == [] and tab.title() == f"{COURSE.title}: the class"
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "no scrolling sideways"
        assert count(".rows td", "e.clientWidth < 200") == 0, "each cell has room for words"
        assert count(".bars code", "e.offsetHeight > 30") == 0, "each name is on one line"
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 384) == (scheme == "dark")
        assert tab.locator(".name").first.is_visible()
        tab.check("#hide")
        assert not any(name.is_visible() for name in tab.locator(".name").all())
        assert not tab.locator("article.card").first.is_visible(), "closed at first"
        tab.emulate_media(media="print")
        assert not tab.locator(".learners").first.is_visible(), "the class alone"
        tab.emulate_media(media="screen")
        tab.check("#all")
        tab.emulate_media(media="print")
        assert tab.locator("article.card").first.is_visible(), "paper cannot be opened"
        cut_off = "e.scrollWidth > e.clientWidth"
        assert count("pre", cut_off) == 0, "and not moved sideways"
        tab.emulate_media(media="screen")
        assert count("pre", cut_off) == 1
        window.close()
