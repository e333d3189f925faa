"""Templates of HTML pages, and the filters that they share."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from .words import in_tenths, with_code

VIEWS = Path(__file__).parent


def pages_in(*folders: Path) -> Environment:
    """Return the templates in these folders, and those that views share."""
    pages = Environment(
        loader=FileSystemLoader([*folders, VIEWS]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["in_tenths"], pages.filters["with_code"] = in_tenths, with_code
    return pages
