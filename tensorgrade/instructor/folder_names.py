"""Names of files and folders that Linux, macOS and Windows allow, and that we do not use."""

import hashlib
import re
import unicodedata

from ..sources.finding import OURS, PEOPLE
from ..sources.submitted_files import STAMP

LONGEST_NAME = 180  # bytes; file systems allow 255, and numbers are added to names
RESERVED = {STAMP, PEOPLE, *OURS}
UNSAFE = re.compile(r'[/\\<>:"|?*\x00-\x1f\x7f\ud800-\udfff]')
# Windows uses these names for devices, with any ending.
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(\.|$)", re.IGNORECASE)


def safe(name: str) -> str:
    """Return a short name for one file or folder that is allowed everywhere and is not reserved.

    >>> safe("CON"), safe("nul.txt"), safe("a:b"), safe("ada. ")
    ('_CON', '_nul.txt', 'a_b', 'ada')
    >>> safe("../ada"), safe(".hidden"), safe("Ada Lovelace_1"), safe("Teams.csv")
    ('_._ada', '_hidden', 'Ada Lovelace_1', '_Teams.csv')
    >>> len(safe("a" * 300 + ".py"))
    180
    """
    plain = UNSAFE.sub("_", name).strip()
    if plain.startswith("."):
        plain = f"_{plain[1:]}"
    plain = plain.rstrip(". ")  # Windows drops these
    if plain.casefold() in RESERVED or DEVICE.match(plain):
        plain = f"_{plain}"
    return shortened(plain) if plain else "_"


def shortened(name: str) -> str:
    """Return the name; if it is too long, its beginning, a digest and its ending."""
    if len(name.encode()) <= LONGEST_NAME:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending.encode()) > 20:
        stem, dot, ending = name, "", ""
    tail = f"~{hashlib.sha256(name.encode()).hexdigest()[:8]}{dot}{ending}"
    room = LONGEST_NAME - len(tail.encode())
    return stem.encode()[:room].decode(errors="ignore") + tail


def same_folder(folder: str) -> str:
    """Return a key that is equal for folders that some file systems treat as the same.

    >>> same_folder("Ada") == same_folder("ada")
    True
    """
    return unicodedata.normalize("NFC", folder).casefold()
