"""Fetch the public files that the open-world cases were found in, for reading.

    python benchmarks/public_sources.py FOLDER

`open_world/sources.tsv` names them by repository and commit. No code of others is in this
repository, and learners' repositories are only counted. A file that cannot be fetched is reported
and skipped. Pages of issues have no file, so only their address is printed.
"""

import argparse
import csv
import urllib.error
import urllib.request
from pathlib import Path

SOURCES = Path(__file__).parent / "open_world" / "sources.tsv"
ADDRESS = "https://raw.githubusercontent.com/{source}/{commit}/{path}"
SECONDS = 20


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for source in sources():
        print(fetched(source, folder) if source["commit"] else at_most_an_address(source))


def sources() -> list[dict[str, str]]:
    """Return the rows of the table of sources."""
    with SOURCES.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


def fetched(source: dict[str, str], folder: Path) -> str:
    """Fetch one file, and return a line about it."""
    target = folder / source["source"] / source["path"]
    try:
        with urllib.request.urlopen(ADDRESS.format_map(source), timeout=SECONDS) as reply:
            content = reply.read()
    except (urllib.error.URLError, TimeoutError) as error:
        return f"{source['source']}: not fetched ({error})"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return f"{target}: {source['shows']}"


def at_most_an_address(source: dict[str, str]) -> str:
    """Return a line about a source that has no file to fetch."""
    return f"{source['path'] or source['source']}: {source['shows']}"


if __name__ == "__main__":
    main()
