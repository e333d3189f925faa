#!/usr/bin/env bash
# One submission: /grade/student in, /grade/results/results.json out.
BASE="${GRADE:-/grade}"
cd "$BASE/tests" || exit 1
export PYTHONPATH="$BASE/tests"
exec python3 -m tensorgrade.instructor.channels prairielearn {chapter} "$BASE"
