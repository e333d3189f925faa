"""All errors of an author are reported together, with file and line, before anything runs."""

import json

import pytest

from tensorgrade.author.proofs import build_checks
from tensorgrade.author.proofs.course_errors import course_errors
from tensorgrade.course import CourseError
from tensorgrade.project import Project

from .small_course import CHAPTER, GRADER, build, edit, make_course

SHIFT, COUNTS = f"graders/{CHAPTER}/Shift.py", f"graders/{CHAPTER}/word_counts.py"
LESSON = f"solutions/{CHAPTER}.py"
PARAMETRIZED = """@__import__("pytest").mark.parametrize("a", [1, 2])
@exercise("scaled", points=4)"""
# A file, what is written there, what it becomes, and what is said; `*` stands for the file.
SLIPS = [
    (
        GRADER,
        '("x * factor", "x + factor")',
        '("x * factro", "x")',
        "*:26: scaled_factor_added in scaled",
    ),
    (GRADER, "def cases(", "def casees(", "*: there is no cases(pick), but casees"),
    (GRADER, "    shapes = pick(", "    shapes = pikc(", "*:9: NameError: name 'pikc'"),
    (
        GRADER,
        "    return [case(",
        "    return [] and [case(",
        "*:7: cases(pick) returns no case for graders",
    ),
    (
        GRADER,
        "hidden=[(5,), (3, 4), (2, 3, 4)]",
        "hidden=[]",
        "*:7: cases(pick) returns no case for",
    ),
    (GRADER, 'f"values/{shape}"', '"values/same"', "*:7: 3 cases are named 'values/same'"),
    (GRADER, "factor=3.0)", "factor=3.0), signature='vlues'", "no signature is named 'vlues'"),
    (
        GRADER,
        'agrees("values")',
        'agrees("valeus")',
        "asks for cases in the group 'valeus', and lear",
    ),
    (
        GRADER,
        '.agrees("',
        '.agree("',
        "*:16: AttributeError: there is no check agree; is it agrees?",
    ),
    (
        GRADER,
        "def test_scaled_values",
        "def tset_scaled_values",
        "*:13: tset_scaled_values is marked",
    ),
    (
        GRADER,
        '@exercise("scaled", points=4)',
        PARAMETRIZED,
        "*:13: the points of test_scaled_values",
    ),
    (GRADER, "def test_scaled_inputs", "def test_scaled_values", "*: the tests add up to 1 points"),
    (GRADER, "points=1,", "points=-1,", "*:19: write the marker as"),
    (
        GRADER,
        '"scaled_factor_ignored"',
        '"scaled_factor_added"',
        "two mistakes are named scaled_factor_added",
    ),
    (GRADER, 'x * 2.0")', "x * 2.0\"), same_as='nobody'", "has same_as='nobody', but"),
    (
        GRADER,
        "from tensorgrade.author import",
        "from tensorgrade.author improt",
        "*:4: invalid syntax",
    ),
    (GRADER, "normal\n", "nromal\n", "*:4: ImportError: cannot import name 'nromal'"),
    (GRADER, 'attempt.scaled.agrees("values")', "pass", None),
    (
        GRADER,
        "attempt.scaled.agrees",
        "attempt.scalde.agrees",
        "*:16: AttributeError: scalde",
    ),
    (GRADER, '@exercise("scaled", points=4)\n', "", "*:13: test_scaled_values has no marker"),
    (
        GRADER,
        '    """Every entry is multiplied."""\n',
        "",
        "_scaled_values has no docstring",
    ),
    (
        GRADER,
        "values(attempt)",
        "values(attempt, x)",
        "_scaled_values takes `attempt`, and",
    ),
    (
        GRADER,
        "x=normal(*shape)",
        "x=__import__('torch').randn(shape)",
        "*:7: cases(pick) uses random numbers that do not come from the course's seed",
    ),
    (GRADER, "x=normal(*shape)", "x=normal(shape)", "*:10: normal((5,),): pass sizes as separate"),
    (
        GRADER,
        "x=normal(*shape)",
        "x=__import__('torch').eye(4, 4, 4)",
        "*:10: TypeError: eye() received an invalid combination of arguments",
    ),
    (
        GRADER,
        '("x * factor", "x + f',
        '("of any shape", "x + f',
        "there 0 times, between ### BEGIN",
    ),
    (GRADER, "    return [case", "    [case", "*: TypeError: 'NoneType' object is not iterable"),
    (GRADER, "factor=3.0)", "factor=3.0), signatur='values'", "*: TypeError: Case.__init__() got"),
    (GRADER, '"The factor that is passed in is ignored.", ', "", "*: scaled_factor_ignored needs"),
    (GRADER, '"The factor that is passed in is ignored."', '" "', "_ignored: its message is empty"),
    (LESSON, "    return x * factor", "   return x * factor", "*:27: unindent does not match"),
    (LESSON, "def scaled(", "def scald(", "*: scaled: its cell defines nothing of that name"),
    (
        LESSON,
        'hints="scaled"',
        'hints="scald"',
        "*: there are hints for scald, wh",
    ),
    (
        "course_config.py",
        f'"{CHAPTER}",',
        f'"{CHAPTER}", "{CHAPTER}",',
        "first_steps twice",
    ),
    (
        "course_config.py",
        f'"{CHAPTER}",',
        f'"{CHAPTER}"',
        f'_stepsch2_more.py is missing; is a comma missing behind "{CHAPTER}"?',
    ),
    (LESSON, 'exercise="word_counts"', 'exercise="scaled"', f"are named scaled, in {CHAPTER}"),
    (
        "solutions/ch2_more.py",
        'e="scaled_2"',
        'e="scaled"',
        "two exercises are named scaled, in ch1_first",
    ),
    ("graders/mistakes/__init__.py", "MISTAKES: list = []", "MISTAKES = [wrong]", "*:3: NameError"),
    (LESSON, "# 2. PyTorch multiplies every entry at once.\n", "", "scaled has fewer than 2 hints"),
    (
        LESSON,
        '    """Return x, of any shape, times the factor."""\n',
        "",
        "scaled has no docstring",
    ),
    (
        LESSON,
        '    ### END SOLUTION\n\n# %% [markdown] hints="scaled"',
        '\n# %% [markdown] hints="scaled"',
        "scaled has no ### BEGIN SOLUTION",
    ),
    (
        "course_config.py",
        "seed=",
        "sead=",
        "*:18: TypeError: Settings.__init__() got an unexpected",
    ),
    (
        "course_config.py",
        "points={}",
        'points={"scalde": 3}',
        "names scalde, which is not an exercise",
    ),
    ("course_config.py", "seed=", "seed=20261101 or ", "course_config.py: the seed can be guessed"),
    ("course_config.py", "seed=", 'seed="abc" or ', "seed in course_config.py is 'abc'; it"),
    (
        "course_config.py",
        "points={}",
        'off=("scaled")',
        'off in course_config.py needs a comma: off=("scaled",)',
    ),
    ("course_config.py", "points={}", 'points={"scaled": "3"}', "gives '3' points to scaled"),
    (
        "course_config.py",
        "points={}",
        'points={"scaled": float("nan")}',
        "gives nan points to scaled",
    ),
    ("course_config.py", "COURSE = ", "CURSE = ", "* has no COURSE = Settings"),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Looked through once and found good, and never built."""
    return make_course(tmp_path_factory.mktemp("errors") / "small")


@pytest.fixture(autouse=True)
def nothing_is_made(monkeypatch):
    """Stop after the first check."""

    def derive(*_):
        raise LookupError("nothing is wrong")

    monkeypatch.setattr(build_checks, "derive", derive)


def said_of(root) -> str:
    try:
        return "\n".join(build(root)[0].wrong)
    except (CourseError, LookupError) as error:
        return str(error)


def test_a_course_without_a_slip_goes_on(course):
    assert said_of(course) == "nothing is wrong"


@pytest.mark.parametrize("file, old, new, said", SLIPS, ids=[f"{s[0]}: {s[2]}"[:60] for s in SLIPS])
def test_a_slip_is_a_sentence(course, file, old, new, said):
    before = (course / file).read_text(encoding="utf-8")
    edit(course, file, old, new)
    try:
        told = said_of(course)
    finally:
        (course / file).write_text(before, encoding="utf-8")
    if said is None:  # a test that asks for nothing is the kill matrix' matter
        assert told == "nothing is wrong"
    else:
        assert said.replace("*", str(course / file)) in told, told


def test_a_lesson_in_another_encoding_is_reported_with_its_line(course):
    path = course / LESSON
    before = path.read_bytes()
    path.write_bytes(
        before.replace(
            b"    return x * factor", "    return x * factor  # größer".encode("latin-1")
        )
    )
    try:
        told = said_of(course)
    finally:
        path.write_bytes(before)
    assert told == f"{path}:27: this is not UTF-8; save the file in UTF-8"


def test_a_missing_course_config_is_reported_with_its_path(tmp_path):
    with pytest.raises(CourseError, match=f"there is no {tmp_path}/course_config.py"):
        Project(tmp_path).course  # noqa: B018


def test_a_course_config_that_cannot_be_read_is_reported_with_its_path(tmp_path):
    (tmp_path / "course_config.py").mkdir()
    with pytest.raises(CourseError, match=f"^{tmp_path}/course_config.py: "):
        Project(tmp_path).course  # noqa: B018


def test_an_error_of_several_lines_is_one_sentence(course, monkeypatch):
    def cases(file):
        raise TypeError("eye() takes other arguments:\n * (int n)\n * (int n, int m)")

    monkeypatch.setattr("tensorgrade.author.proofs.course_errors.ExerciseFile.wrong_cases", cases)
    said = said_of(course).splitlines()
    assert said and all(line.endswith("TypeError: eye() takes other arguments:") for line in said)


@pytest.mark.slow
def test_errors_of_several_files_are_reported_together(tmp_path):
    root = make_course(tmp_path / "small")
    edit(root, GRADER, '"x * factor", "x + factor"', '"x * factro", "x + factor"')
    edit(root, SHIFT, "def cases(", "def casses(")
    edit(root, COUNTS, 'agrees("counts")', 'agrees("cuonts")')
    edit(root, "course_config.py", "seed=", "seed=5,  #")
    told = said_of(root)
    for part in (
        "scaled_factor_added in scaled",
        "but casses",
        "'cuonts'",
        "the seed can be guessed",
    ):
        assert part in told
    shared = 'mistake("far", "Far off.", on("scaled scalde", ("x * factor", "x")))'
    text = f"from tensorgrade.author import mistake, on\n\nMISTAKES = [{shared}]\n"
    (root / "graders/mistakes/__init__.py").write_text(text, encoding="utf-8")
    assert (
        "__init__.py:3: far happens in scalde, which is not an exercise; is it scaled?"
        in said_of(root)
    )


@pytest.mark.slow
def test_an_adopted_mistake_has_a_name_of_its_own(tmp_path):
    root = make_course(tmp_path / "small")
    path = (root / GRADER).with_suffix(".adopted.json")
    for names, taken in (
        (["fresh"], ""),
        (["scaled_factor_added"], "scaled_factor_added"),
        (["fresh", "fresh"], "fresh"),
    ):
        kept = [{"name": name, "message": "It is.", "source": ""} for name in names]
        path.write_text(json.dumps(kept), encoding="utf-8")
        told = course_errors(Project(root))
        assert told == ([f"{path}: another mistake is named {taken}, too"] if taken else [])


@pytest.mark.parametrize(
    ("name", "close"),
    [("softmx", "softmax, softmax_naive"), ("nosuch", "ch1_simplified_attention, ch2_")],
)
def test_a_name_that_nothing_has_is_reported_with_those_that_there_are(project, name, close):
    with pytest.raises(CourseError, match=f"there is no {name}; there is {close}"):
        build_checks.exercises_of(project, ["softmax", name])


def test_chapters_and_exercises_are_built_by_name(project):
    named = build_checks.exercises_of(project, ["ch3_causal_attention", "softmax"])
    assert named > {"softmax", "causal_mask"} and "context_vector" not in named
