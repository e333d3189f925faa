"""The docs site needs no other host, and can be searched offline. `make docs` says if it builds."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

from .accessibility import QUIET
from .support import ROOT, browser, needs

LOADING = ("src", "srcset", "data", "poster", "style")  # attributes, and the href of a <link>
ELSEWHERE = re.compile(r"""(?:^|,|url\(|@import)\s*["']?(?:https?:)?//""", re.IGNORECASE)
pytestmark = pytest.mark.proof


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


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def test_no_page_loads_anything_from_another_host_and_every_image_has_a_text(site, pages):
    assert pages["index.html"].loaded
    loaded = {(name, one) for name, page in pages.items() for one in page.loaded}
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loaded |= {(path.name, one) for one in re.findall(r"url\([^)]*\)|@import[^;]*", text)}
    assert {one for one in loaded if ELSEWHERE.search(one[1])} == set()
    # The theme's script would load Mermaid from the web for a page that has a diagram.
    assert not any("mermaid" in page.classes for page in pages.values())
    images = [image for page in pages.values() for image in page.images]
    assert images
    assert [image["src"] for image in images if not (image.get("alt") or "").strip()] == []


def test_the_python_api_shows_the_public_names_and_no_others(pages):
    modules = ("tensorgrade", "tensorgrade.author", "tensorgrade.notebook")
    names = {f"{module}.{name}" for module in modules for name in import_module(module).__all__}
    ids = pages["reference/api.html"].ids
    assert {one for one in ids if one.count(".") and one.startswith("tensorgrade.")} == names


@needs("Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_without_a_server_pages_fit_and_can_be_searched(site, scheme):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        window = engine.chromium.launch(executable_path=browser(), args=QUIET)
        tab = window.new_page(color_scheme=scheme, viewport={"width": 390, "height": 844})
        requested: list[str] = []
        tab.on("request", lambda request: requested.append(request.url))
        for name in ("index", "explanation/evidence", "reference/commands", "reference/api"):
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
        window.close()
