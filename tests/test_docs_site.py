"""The docs site builds without warnings, needs no other host, and can be searched offline."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer

from tensorgrade.cli.program import app
from tensorgrade.course_sources import own_commands

from .commands import ROOT

LOADING = ("src", "srcset", "data", "poster", "style")  # attributes, and the href of a <link>
ELSEWHERE = re.compile(r"""(?:^|,|url\(|@import)\s*["']?(?:https?:)?//""", re.IGNORECASE)
BROWSER = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


class Page(HTMLParser):
    """One page of the site: its headings, its images and everything that it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.images: list[dict] = []
        self.loaded: list[str] = []
        self.classes: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id") or "")
        self.classes |= set((found.get("class") or "").split())
        self.loaded += [found[name] or "" for name in LOADING if name in found]
        if tag == "link":
            self.loaded.append(found["href"])
        if tag == "img":
            self.images.append(found)


def built(folder: Path) -> Path:
    """Build the site into a folder as `make docs` does, and return the folder."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


@pytest.mark.parametrize(
    "loaded",
    ["https://x.y/z.js", "//x.y/z.js", "a.png, //x.y/z.png 2x", "url('http://x.y/z.woff')"],
)
def test_other_hosts_are_recognized(loaded):
    assert ELSEWHERE.search(loaded) and not ELSEWHERE.search("../assets/z.js")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_no_page_loads_anything_from_another_host(site, pages):
    assert len(pages) > 15 and pages["index.html"].loaded
    loaded = {(name, one) for name, page in pages.items() for one in page.loaded}
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loaded |= {(path.name, one) for one in re.findall(r"url\([^)]*\)|@import[^;]*", text)}
    assert {one for one in loaded if ELSEWHERE.search(one[1])} == set()
    # The theme's script would load Mermaid from the web for a page that has a diagram.
    assert not any("mermaid" in page.classes for page in pages.values())


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_image_has_an_alternative_text(pages):
    images = [image for page in pages.values() for image in page.images]
    assert len(images) >= 5
    assert [image["src"] for image in images if not (image.get("alt") or "").strip()] == []


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_page_of_commands_lists_every_command(pages):
    names = set(own_commands(ROOT))
    for name, command in typer.main.get_group(app).commands.items():
        subcommands = getattr(command, "commands", {})
        names |= {f"{name}-{sub}" for sub in subcommands} or {name}
    assert {"grade", "new-course", "train"} <= names
    assert names - pages["reference/commands.html"].ids == set()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_python_api_shows_the_public_names_and_no_others(pages):
    from tensorgrade import __all__ as markers
    from tensorgrade.author import __all__ as author
    from tensorgrade.notebook import __all__ as notebook

    names = {f"tensorgrade.{name}" for name in markers}
    names |= {f"tensorgrade.author.{name}" for name in author}
    names |= {f"tensorgrade.notebook.{name}" for name in notebook}
    ids = pages["reference/api.html"].ids
    assert {one for one in ids if one.count(".") and one.startswith("tensorgrade.")} == names


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_page_of_checks_shows_every_check_and_its_parts_and_no_helper(pages):
    from tensorgrade.judging.checked import CheckedExercise
    from tensorgrade.judging.checks import ENGINE_CHECKS

    ids = pages["reference/checks.html"].ids
    names = {f"{check.__module__}.{name}" for name, check in ENGINE_CHECKS.items()}
    parts = {name for name in vars(CheckedExercise) if not name.startswith("_")}
    names |= {f"{CheckedExercise.__module__}.CheckedExercise.{name}" for name in parts}
    shown = {one for one in ids if one.startswith("tensorgrade.")}
    modules = {check.__module__ for check in ENGINE_CHECKS.values()}
    assert len(names) > 20 and shown == names | modules


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_without_a_server_pages_fit_and_can_be_searched(site, scheme):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no browser here")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=BROWSER)
        tab = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 844})
        requested: list[str] = []
        tab.on("request", lambda request: requested.append(request.url))
        for name in ("index", "reference/kill_matrix", "reference/commands", "reference/api"):
            tab.goto((site / f"{name}.html").as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390, name
        shown = tab.evaluate("document.body.dataset.mdColorScheme")
        assert shown == {"light": "default", "dark": "slate"}[scheme]
        tab.set_viewport_size({"width": 1280, "height": 900})
        tab.goto((site / "index.html").as_uri())
        tab.fill("input[name=query]", "fingerprint")
        tab.wait_for_selector(".md-search-result__link", timeout=60_000)
        assert any(url.startswith("file:") for url in requested)
        assert [url for url in requested if not url.startswith(("file:", "data:", "blob:"))] == []
        browser.close()
