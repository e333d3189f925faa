"""Check a page in Chromium with axe-core."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

QUIET = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
           --disable-component-update --disable-sync""".split()


def serious_violations(tab: Page) -> list[str]:
    """Return the serious and critical violations on a page, each with its first element."""
    # Of each rule that passes, one element is described instead of thousands.
    found = Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html']} ({len(one['nodes'])})"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
