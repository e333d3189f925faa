#!/usr/bin/env bash
# One submission: /autograder/submission in, /autograder/results/results.json out.
BASE="${AUTOGRADER:-/autograder}"
PYTHON="$BASE/venv/bin/python"
[ -x "$PYTHON" ] || PYTHON=python3
cd "$BASE/source" || exit 1
export PYTHONPATH="$BASE/source"
exec "$PYTHON" -m tensorgrade.instructor.channels gradescope {chapter} "$BASE"
