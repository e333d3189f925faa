"""Run the proofs: what is a statement about the course or about chance, and takes minutes.

    python tools/proofs.py            run them; if they hold, write the stamp
    python tools/proofs.py --check    say if the stamp is older than what it speaks about

The stamp, `docs/reference/proofs.json`, holds a digest of the course and of the engine's packages
that decide verdicts.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMP = ROOT / "docs" / "reference" / "proofs.json"
COURSE = ("graders", "solutions", "course_config.py")
ENGINE = ("attempts", "judging", "recognition", "runner")
# Names of the proofs, each with its command.
PROOFS = {
    "floors": [sys.executable, "-m", "tests.floors"],
    "known mistakes": ["tensorgrade", "prove"],
    "proofs among the tests": [
        "pytest",
        "tests",
        "-m",
        "proof",
        "--amount",
        "100",
        "--timeout",
        "7200",
    ],
}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare the stamp")
    if parser.parse_args().check:
        sys.exit(not is_fresh())
    minutes = {name: run(name, command) for name, command in PROOFS.items()}
    stamp = {"digest": digest(), "minutes": minutes}
    STAMP.write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")
    print(f"All proofs hold: {minutes}. Written: {STAMP.relative_to(ROOT)}")


def run(name: str, command: list[str]) -> float:
    """Run a proof, and return its minutes. Ends this process if it does not hold."""
    print(f"── {name}: {' '.join(command)}", flush=True)
    start = time.monotonic()
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"{name}: it does not hold, so no stamp is written")
    return round((time.monotonic() - start) / 60, 1)


def is_fresh() -> bool:
    """Return True if the stamp speaks about today's files; print what to do otherwise."""
    stamp = json.loads(STAMP.read_text(encoding="utf-8")) if STAMP.exists() else {}
    fresh = stamp.get("digest") == digest()
    print("proofs: fresh" if fresh else "proofs: older than the course or the engine (make proofs)")
    return fresh


def digest() -> str:
    """Return a digest of the course's and the engine's tracked files."""
    folders = [*COURSE, *(f"tensorgrade/{name}" for name in ENGINE)]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", *folders],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    seen = hashlib.blake2b(digest_size=12)
    for path in sorted(filter(None, listed.split("\0"))):
        if (ROOT / path).is_file():
            seen.update(path.encode() + b"\0" + (ROOT / path).read_bytes() + b"\0")
    return seen.hexdigest()


if __name__ == "__main__":
    main()
