"""The lessons' page in a real browser: its scripts, its pictures, narrow and dark screens."""

import re
import runpy
import shutil
import signal

import pytest
import torch
from playwright.sync_api import sync_playwright

from ..accessibility import QUIET, serious_violations
from ..kits import wait_until
from ..support import ROOT, begin, browser, needs

pytestmark = [needs("Chromium"), pytest.mark.slow]
CHAPTER = "ch1_simplified_attention"
NAMES = ("sharpening", "mask", "heads", "rotary")


@pytest.fixture(scope="module")
def sentence() -> torch.Tensor:
    """The lessons' sentence."""
    return runpy.run_path(str(ROOT / "solutions" / f"{CHAPTER}.py"))["sentence"]


@pytest.fixture(scope="module")
def page(own) -> str:
    """The address of a learner's page, with five exercises done and one wrong."""
    return (own / "lessons.html").as_uri()


@pytest.fixture(scope="module")
def window():
    """One browser for all tests."""
    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=browser(), args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def opened(window):
    """A function that opens a tab. Fail if the page loads anything else or reports an error."""
    heard, tabs = [], []

    def tab_with(address: str, width: int = 1280, scheme: str = "light"):
        tab = window.new_page(color_scheme=scheme, viewport={"width": width, "height": 844})
        tab.set_default_timeout(15_000)
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda asked: heard.append(asked.url))
        tab.goto(address)
        tabs.append((tab, address))
        return tab

    yield tab_with
    for tab, address in tabs:
        tab.close()
        heard = [one for one in heard if not one.startswith((address, "data:"))]
    assert heard == []


def told(tab, name: str) -> str:
    """Return the description of an interactive picture."""
    return tab.locator(f'[data-picture="{name}"] output').inner_text()


def test_nothing_is_wider_than_the_screen_and_nothing_seriously_inaccessible(opened, page):
    wide = (
        "[...document.querySelectorAll('.picture:not([hidden]) img, .try')]"
        ".filter(one => one.getBoundingClientRect().right > innerWidth).length"
    )
    for width, scheme, filtered in ((390, "light", "none"), (1280, "dark", "invert")):
        tab = opened(page, width, scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(wide) == 0 and serious_violations(tab) == []
        drawn = tab.locator(".picture:not([hidden]) img").first
        assert drawn.evaluate("one => getComputedStyle(one).filter").startswith(filtered)
    tab = opened(page, 1100)  # a bit wider than the two columns at least
    body = "document.body.style.width = 'calc(100vw - 15px)'"
    assert tab.evaluate(f"{body}; document.body.scrollWidth <= document.body.clientWidth")


def test_text_in_still_pictures_can_be_read_on_a_phone(opened, page, project):
    tab = opened(page, 390)
    for name in ("angle", "roles", "shapes", "groups", "block"):
        shown = tab.locator(f'.picture:has(+ [data-picture="{name}"]) img')
        drawing = project.root / "solutions" / "pictures" / f"{name}.svg"
        text = drawing.read_text(encoding="utf-8")
        width = int(re.search(r'width="(\d+)"', text)[1])
        smallest = min(
            float(size) for size in re.findall(r'<text[^>]*font-size="(\d+)"', text) or [14]
        )
        assert smallest * shown.bounding_box()["width"] / width >= 9, name


def test_the_sidebar_names_every_exercise_with_its_state(opened, page, project):
    tab = opened(page)
    sidebar = tab.locator("nav")
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            assert sidebar.locator(f'a[href="#{exercise.name}"]').count() >= 1
    assert sidebar.get_by_role("img", name="done", exact=True).all_inner_texts() == ["✓"] * 5
    assert sidebar.get_by_role("img", name="wrong", exact=True).inner_text() == "✗"
    assert re.search(r"5 of 6 done, \d+ minutes to read", sidebar.inner_text())
    before = sidebar.bounding_box()["y"]
    tab.mouse.wheel(0, 5000)
    assert sidebar.bounding_box()["y"] == before == 0


def test_finished_tasks_hints_and_answers_are_folded_and_code_can_be_copied(opened, page):
    tab = opened(page)
    done = tab.locator("#attention_scores")
    assert "return inputs @ query" in done.inner_text()
    task = done.locator("details", has_text="The task")
    assert not task.locator("pre").is_visible()
    task.locator("summary").click()
    assert "raise NotImplementedError" in task.inner_text()
    hint = tab.locator("#softmax details", has_text="Hint 1")
    assert not hint.locator("p").is_visible()
    hint.locator("summary").press("Enter")
    assert hint.locator("p").is_visible()
    answers = tab.locator("details", has=tab.get_by_text("Answers", exact=True)).first
    assert answers.locator("p").count() == 3 and not answers.locator("p").first.is_visible()
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = tab.locator("#softmax .code").first
    box.hover()
    box.get_by_role("button", name="Copy").click()
    box.get_by_role("button", name="Copied").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied == box.locator("code").inner_text() and copied.startswith("def softmax")


def test_the_slider_shows_softmax_of_the_scaled_scores(opened, page, sentence):
    scores = sentence @ sentence[1]
    tab = opened(page, 390)
    slider = tab.get_by_label("Move the scale")
    for scale, keys in ((1.0, []), (1.5, ["ArrowRight"]), (20.0, ["End"]), (0.0, ["Home"])):
        for key in keys:
            slider.press(key)
        shown = tab.locator('[data-picture="sharpening"] text').all_text_contents()[:6]
        right = torch.softmax(scale * scores, dim=0)
        assert [float(one) for one in shown] == [round(float(w), 2) for w in right]
    assert "equal" in told(tab, "sharpening")


def test_a_click_shows_what_leaks_and_the_mask_stops_it(opened, page, sentence):
    torch.manual_seed(789)
    layers = [torch.nn.Linear(3, 2, bias=False) for _ in range(2)]
    with torch.no_grad():
        queries, keys = (layer(sentence) for layer in layers)
        scores = queries @ keys.T / 2**0.5
    weights = torch.softmax(scores, dim=-1)
    hidden = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
    masked = torch.softmax(hidden, dim=-1)
    tab = opened(page, 390)
    box = tab.locator('[data-picture="mask"]')
    box.get_by_role("button", name="starts").click()
    assert f"takes {float(weights[2, 3:].sum()):.2f} of its output from with, one, step" in told(
        tab, "mask"
    )
    box.get_by_role("cell").nth(1).click()
    assert box.get_by_role("button", name="Your").get_attribute("aria-pressed") == "true"
    tab.get_by_role("checkbox", name="causal mask").press("Space")
    assert "sees only itself" in told(tab, "mask")
    shown = [float(one) for one in box.locator("tbody td").all_inner_texts()]
    assert torch.allclose(torch.tensor(shown).view(6, 6), masked, atol=0.006)
    box.get_by_role("button", name="step").press("Enter")
    assert "the mask changes nothing" in told(tab, "mask")


def test_the_steps_split_and_merge_heads_as_torch_does(opened, page):
    wide = torch.tensor([[10 * t + c for c in range(1, 9)] for t in range(1, 4)])
    cut = wide.reshape(3, 2, 4)
    steps = [wide, cut, cut.transpose(0, 1), cut, wide, wide.reshape(2, 3, 4)]
    places = (
        "[...document.querySelectorAll('[data-picture=heads] g')].map(one =>"
        " [...one.style.transform.matchAll(/[\\d.]+/g)].map(n => Number(n[0]))"
        ".concat(Number(one.textContent)))"
    )
    tab = opened(page, 390)
    box = tab.locator('[data-picture="heads"]')
    for number, right in enumerate(steps, 1):
        assert f"Step {number} of 6: {tuple(right.shape)}" in told(tab, "heads")
        in_order = sorted(tab.evaluate(places), key=lambda place: (place[1], place[0]))
        assert [place[2] for place in in_order] == right.flatten().tolist()
        box.get_by_role("button", name="Next").press("Enter")
    box.get_by_role("button", name="Back").click()
    assert "Step 5 of 6" in told(tab, "heads")


def test_dragging_moves_the_query_and_only_the_distance_matters(opened, page):
    tab = opened(page, 390)
    query, key = (
        tab.get_by_role("slider", name=f"position of the {one}") for one in ("query", "key")
    )
    start = told(tab, "rotary")
    assert "Query at position 2, key at 5: distance 3" in start
    product = start.split("product ")[1]
    query.press("ArrowRight")
    assert product not in told(tab, "rotary")
    key.press("ArrowRight")
    assert "distance 3" in told(tab, "rotary") and product in told(tab, "rotary")
    tab.get_by_role("button", name="Move both right").press("Enter")
    assert told(tab, "rotary").endswith(product) and key.get_attribute("aria-valuenow") == "7"
    query.scroll_into_view_if_needed()
    box = query.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y, steps=4)
    tab.mouse.up()
    tab.mouse.move(x, y)
    moved = int(query.get_attribute("aria-valuenow"))
    assert moved in (6, 7) and f"Query at position {moved}" in told(tab, "rotary")
    query.press("End")
    assert query.get_attribute("aria-valuenow") == "16"


def test_interactive_pictures_have_a_name_and_still_ones_are_shown_without_scripts(
    opened, window, page
):
    tab = opened(page)
    for name in NAMES:
        box = tab.locator(f'[data-picture="{name}"]')
        assert len(box.get_attribute("aria-label")) > 20 and box.is_visible()
        assert not tab.locator(f'.picture:has(+ [data-picture="{name}"])').is_visible()
    tab = window.new_page(java_script_enabled=False)
    tab.goto(page)
    assert tab.locator(".picture").count() >= 9 and tab.locator(".try:visible").count() == 0
    assert all(one.is_visible() for one in tab.locator(".picture img").all())
    tab.close()


def test_a_served_page_reloads_after_a_save(opened, tmp_path):
    written, said = tmp_path / f"{CHAPTER}.py", tmp_path / "said.txt"
    shutil.copy(ROOT / "exercises" / f"{CHAPTER}.py", written)
    process = begin("read", tmp_path, "--live", "--no-show", cwd=ROOT, written=said)
    try:
        wait_until(lambda: "http" in said.read_text(), process)
        address = re.search(r"http://127\.0\.0\.1:\d+/", said.read_text())[0]
        tab = opened(address)
        assert tab.locator("section.done").count() == 0

        def saved() -> bool:  # it may not watch the folder yet, so save again and again
            shutil.copyfile(ROOT / "solutions" / f"{CHAPTER}.py", written)
            return tab.locator("section.done#attention_scores").count() > 0

        wait_until(saved, process)
        assert "reloads on each save" in tab.locator("#live").inner_text()
        other = tab.request.get(f"{address}version", headers={"Host": "elsewhere.example"})
        assert other.status == 404
        tab.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
