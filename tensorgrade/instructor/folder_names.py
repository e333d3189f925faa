"""Folder names that Linux, macOS and Windows allow, and that are unique to each learner."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

LONGEST_NAME = 180  # bytes; file systems allow 255, and ids and numbers are added to names
RESERVED = {"timestamp.txt"}  # the name of the file with the submission's time
UNSAFE = re.compile(r'[/\\<>:"|?*\x00-\x1f\x7f\ud800-\udfff]')
# Windows uses these names for devices, with any ending.
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])[ ]*(\.|$)", re.IGNORECASE)


def safe(name: str) -> str:
    """Return a short name for one file or folder that Linux, macOS and Windows allow.

    >>> safe("CON"), safe("nul.txt"), safe("a:b"), safe("ada. ")
    ('_CON', '_nul.txt', 'a_b', 'ada')
    >>> safe("../ada"), safe(".hidden"), safe("Ada Lovelace_1"), safe("timestamp.txt")
    ('_._ada', '_hidden', 'Ada Lovelace_1', '_timestamp.txt')
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
    tail = f"~{digest(name)}{dot}{ending}"
    room = LONGEST_NAME - len(tail.encode())
    return stem.encode()[:room].decode(errors="ignore") + tail


def digest(text: str) -> str:
    """Return eight characters that differ for different texts."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def same_folder(folder: str) -> str:
    """Return a key that is equal for folders that some file systems treat as the same.

    >>> same_folder("Ada") == same_folder("ada")
    True
    """
    return unicodedata.normalize("NFC", folder).casefold()


@dataclass(frozen=True)
class Claim:
    """A learner's claim to a folder name.

    name: the wanted name. id: the course system's id of the learner. distinct: a text that no other
    claim has.
    """

    name: str
    id: str
    distinct: str

    def folder(self, attempt: int) -> str:
        """Return the name; after a collision, add the id; after a second one, add a digest.

        >>> [Claim("Ann Lee", "7", "x").folder(attempt) for attempt in range(3)]
        ['Ann Lee', 'Ann Lee_7', 'Ann Lee_2d711642']
        """
        if attempt == 0:
            return safe(self.name)
        ending = f"_{self.id}" if attempt == 1 and self.id else f"_{digest(self.distinct)}"
        return safe(f"{safe(self.name)[:100]}{ending}")


def unique_folders(claims: Sequence[Claim], taken: Collection[str] = ()) -> list[str]:
    """Return a different folder name for each claim.

    If several claims lead to one folder, all of them get their id added, so that no learner can
    block another one by copying a name. taken: names that are not available.
    """
    attempts = [0] * len(claims)
    used = Counter(map(same_folder, taken))
    while True:
        folders = [claim.folder(n) for claim, n in zip(claims, attempts, strict=True)]
        keys = [same_folder(folder) for folder in folders]
        count = Counter(keys) + used
        colliding = [n for n, key in enumerate(keys) if count[key] > 1 and attempts[n] < 2]
        if not colliding:
            return folders
        for number in colliding:
            attempts[number] += 1
