"""Fetch the public files that the open-world cases were found in, for reading.

    python benchmarks/public_sources.py FOLDER

`open_world/sources.tsv` names them by repository and commit. No code of others is in this
repository, and learners' repositories are only counted. A file that cannot be fetched is reported
and skipped; if none can be, the command fails. Pages of issues have no file, so only their address
is printed.
"""

import argparse
import csv
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path

SOURCES = Path(__file__).parent / "open_world" / "sources.tsv"
ADDRESS = "https://raw.githubusercontent.com/{source}/{commit}/{path}"
SECONDS = 20


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    targets = []
    for source in sources():
        if source["commit"]:
            targets += [fetched(source, folder)]
        else:
            print(at_most_an_address(source))
    if not any(targets):
        sys.exit(f"None of {len(targets)} files could be fetched. Is this machine online?")


def sources() -> list[dict[str, str]]:
    """Return the rows of the table of sources."""
    with SOURCES.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


def fetched(source: dict[str, str], folder: Path) -> Path | None:
    """Fetch one file and print a line about it. Return its path, or None if that is impossible."""
    target = folder / source["source"] / source["path"]
    try:
        with urllib.request.urlopen(ADDRESS.format_map(source), timeout=SECONDS) as reply:
            content = reply.read()
    except (OSError, HTTPException) as error:
        print(f"{source['source']}: not fetched ({error})")
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    print(f"{target}: {source['shows']}")
    return target


def at_most_an_address(source: dict[str, str]) -> str:
    """Return a line about a source that has no file to fetch."""
    return f"{source['path'] or source['source']}: {source['shows']}"


if __name__ == "__main__":
    main()
