"""All errors of an author are reported together, with file and line, before anything runs."""

import sys

import pytest

from tensorgrade.author.errors import course_errors
from tensorgrade.course import CourseError
from tensorgrade.project import Project, package_of

from .small_course import (
    CHAPTER,
    COUNTS,
    GRADER,
    LESSON,
    LINE,
    MARK,
    NAME,
    OLD,
    edit,
    make_course,
    with_a_bug,
)

SHIFT = f"graders/{CHAPTER}/Shift.py"
# By file: a piece of it, its replacement, and the error; `*` stands for the file.
SLIPS = {
    GRADER: [
        ("x * factor -> x + f", "x * factro -> x + f", "*:18: scaled_factor_added in scaled: "),
        ("def cases(", "def casees(", "no cases(draw), but casees"),
        (" draw((10", " drwa((10", "*:8: NameError: name 'drwa'"),
        ("return [case(", "return [] and [case(", "*:6: cases(draw) returns no case for gra"),
        ('f"values/{shape}"', '"values/same"', "*:6: 4 cases are named 'values/same'"),
        ("factor=3.0)", "factor=3.0), signature='vlues'", "'vlues'"),
        ('agrees("values")', 'agrees("valeus")', "*:13: agrees asks for cases in the group 'v"),
        ('.agrees("', '.agree("', "no check agree"),
        ('keeps_inputs("values")', 'keeps_inputs("valeus")', "*:14: keeps_inputs asks for cases"),
        ('agrees("values")', "agrees()", "*:13: agrees: missing a required argument: 'group'"),
        ('agrees("values")', "agrees({1})", "*:13: 'Every entry is multiplied.' has an argument"),
        ("check(1,", "check(-1,", "worth -1 points"),
        ("check(4,", "check('4',", "worth '4' points"),
        ("CHECKS = [", "CHECKZ = [", "*: write CHECKS = [check(…), …]"),
        ("factor_ignored:", "factor_added:", "named scaled_factor_ad"),
        ("from tensorgrade.author import", "from tensorgrade.author improt", "*:3: invalid syntax"),
        ("normal\n", "nromal\n", "*:3: ImportError: cannot import name 'nromal'"),
        (', it.agrees("values")', "", "*:13: 'Every entry is multiplied.' checks nothing; write"),
        ('"Every entry is multiplied.", ', "", "*:13: a check has no sentence, the line that"),
        ("normal(*", "__import__('torch').randn(*", "*:6: cases(draw) uses random numbers that"),
        ("normal(*shape)", "__import__('torch').eye('4')", "*:9: TypeError: eye(): argument"),
        ("x * factor -> x + f", "of any shape -> x + f", "there 0 times, between ### BEGIN"),
        ("x * factor -> x + f", "t -> f", "there 2 times, between ### BEGIN"),
        ("    return [case", "    [case", "*: TypeError: 'NoneType' object is not iterable"),
        ("factor=3.0)", "factor=3.0), signatur='values'", "*: TypeError: Case.__init__() got"),
        ("_ignored: The factor", "_ignored The factor", "*:20: a mistake starts with `name: me"),
        (" The factor that is passed in is ignored.", "", "*:20: a mistake starts with `name: me"),
        ("The factor that", "All of it. " * 30, "_ignored: its message has"),
        ("    x * factor -> x * 2.0\n", "", "*:20: scaled_factor_ignored has no edit; write an"),
        ("x * factor -> x * 2.0", "x * factor = x * 2.0", "*:21: write an edit as `old -> new`"),
        ("x * factor -> x * 2.0", "+ x * 2.0", "*:21: write an edit as `old -> new`"),
        ("-> x * 2.0", "-> x * 2.0\n  It ends here.", "*:22: write an edit as `old -> new`"),
    ],
    LESSON: [
        ("# %% [markdown]\n# ## ", "# %% [markdown] Both ways\n# ## ", "text after `# %%`"),
        ('# %% exercise="scaled"', "# %% exercise=scaled", "or write a mark as"),
        ("    return x * factor", "   return x * factor", "*:27: unindent does not match"),
        ("def scaled(", "def scald(", "*: scaled: its cell defines nothing of that name"),
        ('hints="scaled"', 'hints="scald"', "*: there are hints for scald, wh"),
        ('exercise="word_counts"', 'exercise="scaled"', f"are named scaled, in {CHAPTER}"),
        ("# 2. PyTorch multiplies every entry at once.\n", "", "scaled has fewer than 2 hints"),
        ('    """Return x, of any shape, times the factor."""\n', "", "scaled has no docstring"),
        ("### BEGIN SOLUTION", "# The solution", "scaled has no ### BEGIN SOLUTION"),
    ],
    "course_config.py": [
        ("points={}", 'submit_as="fax"', "submit_as"),
        (f'"{CHAPTER}",', f'"{CHAPTER}", "{CHAPTER}",', "first_steps twice"),
        (f'"{CHAPTER}",', f'"{CHAPTER}"', f'a comma missing behind "{CHAPTER}"?'),
        ("seed=", "sead=", "*:18: TypeError: Settings.__init__() got an unexpected"),
        ("points={}", 'points={"scalde": 3}', "names scalde"),
        ("seed=", "seed=20261101 or ", "course_config.py: the seed can be guessed"),
        ("seed=", 'seed="abc" or ', "`$.seed`"),
        ("points={}", 'off=("scaled")', "`$.off` of COURSE; a list of one needs a comma"),
        ("points={}", 'points={"scaled": "3"}', "`$.points"),
        ("points={}", 'points={"scaled": float("nan")}', "`$.points"),
        ("COURSE = ", "CURSE = ", "* has no COURSE = Settings"),
    ],
    "solutions/ch2_more.py": [
        ('e="scaled_2"', 'e="scaled"', "two exercises are named scaled, in ch1_first"),
    ],
    "graders/mistakes.py": [
        ('MISTAKES = """', 'MISTAKES = wrong + """', "*:3: NameError"),
        ('MISTAKES = """\n"""', "MISTAKES = []", "*:3: MISTAKES has to be a text"),
    ],
}
# The same in a course with a find-the-bug exercise; None: no slip.
SLIPS_OF_BUGS = [
    (LESSON, 'like="scaled"', 'like="scald"', "no exercise of"),
    (LESSON, 'like="scaled"', "", ":79: a find-the-bug exercise needs both, `like="),
    (LESSON, "points=4", "", "a find-the-bug exercise needs both, `like="),
    (LESSON, MARK, "", f"{NAME}: no line of its solution has `### BUG: the wrong line`"),
    (
        LESSON,
        "x * factor\n",
        "x * factor  ### BUG: x\n",
        "scaled: only find-the-bug exercises have",
    ),
    (LESSON, MARK, MARK.replace("entries", "scaled(x, factor)"), "and calls scaled"),
    (LESSON, LINE, f"    products = (1 + 1 + 1 - 1 - 1) * {OLD}entries, factors)", "at most"),
    (LESSON, LINE, f"    products = 1 * {OLD}entries, factors)", None),
]


CHECK = "from tensorgrade import check\n@check\ndef {}(exercise): ...\n"
SIGNATURE = (
    "from tensorgrade import signature\n@signature('{}')\ndef signs(case, expected, seen): ...\n"
)
# Text that a course's `checks.py` may not hold, and the error.
REFUSED = {
    2 * CHECK.format("is_positive"): "check 'is_positive'",
    2 * SIGNATURE.format("signs"): "signature 'signs'",
    CHECK.format("agrees"): "has a check 'agrees'",
    CHECK.format("seen"): "has a check 'seen'",
    SIGNATURE.format("values"): "has a signature 'values'",
}


def said_of(root) -> str:
    """Return what is wrong with a course; its files are read again."""
    package = package_of(root / "graders")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    try:
        project = Project(root)
        return "\n".join(course_errors(project, project.course.chapters))
    except CourseError as error:
        return str(error)


def after(root, file: str, old: str, new: str) -> str:
    """Return what is wrong after an edit, which is undone."""
    before = (root / file).read_bytes()
    edit(root, file, old, new)
    try:
        return said_of(root)
    finally:
        (root / file).write_bytes(before)


@pytest.fixture(scope="module", autouse=True)
def no_bytecode():
    """A file that is changed twice within a second is read twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        yield


def test_a_slip_is_a_sentence(tmp_path):
    root, other = make_course(tmp_path / "small"), with_a_bug(tmp_path / "bugs")
    assert said_of(root) == said_of(other) == ""
    rows = [(root, file, *row) for file, slips in SLIPS.items() for row in slips]
    rows += [(other, *row) for row in SLIPS_OF_BUGS]
    told = [(after(at, file, old, new), at / file, new, said) for at, file, old, new, said in rows]
    missed = {
        new: text
        for text, path, new, said in told
        if (said.replace("*", str(path)) not in text if said else text)
    }
    assert missed == {}


def test_a_file_in_another_encoding_or_a_folder_in_its_place_is_reported(tmp_path):
    root = make_course(tmp_path / "small")
    path, config = root / LESSON, root / "course_config.py"
    code = b"    return x * factor"
    path.write_bytes(path.read_bytes().replace(code, code + "  # größer".encode("latin-1")))
    assert f"{path}:27: " in said_of(root) and "UTF-8" in said_of(root)
    config.unlink()
    assert said_of(root).startswith(f"{config}: FileNotFoundError")
    config.mkdir()
    assert said_of(root).startswith(f"{config}: ")


def test_errors_of_several_files_are_reported_together(tmp_path):
    root = make_course(tmp_path / "small")
    edit(root, GRADER, "x * factor -> x + factor", "x * factro -> x + factor")
    edit(root, SHIFT, "def cases(", "def casses(")
    edit(root, COUNTS, 'agrees("counts")', 'agrees("cuonts")')
    edit(root, "course_config.py", "seed=", "seed=5,  #")
    told = said_of(root)
    for part in ("scaled_factor_added in", "but casses", "'cuonts'", "the seed can be guessed"):
        assert part in told


def test_names_of_own_checks_and_signatures_are_taken_once_and_in_one_course_only(tmp_path):
    root, other = make_course(tmp_path / "small"), make_course(tmp_path / "other")
    added = root / "graders" / "checks.py"
    for text, said in REFUSED.items():
        added.write_text(text, encoding="utf-8")
        told = said_of(root)
        assert said in told and str(added) in told and ("twice" in told) == (text.count("@") == 2)
    added.write_text(CHECK.format("is_positive") + SIGNATURE.format("signs"), encoding="utf-8")
    for place in (root, other):
        edit(place, GRADER, 'agrees("values")', "is_positive()")
    edit(root, GRADER, "factor=3.0)", 'factor=3.0, signature="signs")')
    assert said_of(root) == "" and "no check is_positive" in said_of(other)
