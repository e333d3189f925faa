"""The course: chapters, seed, tolerances and limits, and nbgrader's settings.

This file contains the settings of the whole course. The exercises are in `solutions/`, and their
points are next to the checks in `graders/`. `tensorgrade build` copies the settings to every
derived file. nbgrader reads this file through `nbgrader_config.py`.
"""

from dataclasses import asdict

from tensorgrade import Lateness, Limits, Settings, Tolerance

FLOATS = {
    # Right answers differ: a sqrt taken in float32, a 1e-6 added to a row sum. Known mistakes
    # change some value of a case by far more.
    "float64": Tolerance(relative=1e-5, absolute=1e-5),
    "float32": Tolerance(relative=1e-4, absolute=1e-4),
}

COURSE = Settings(
    name="attention",
    title="Attention, from a dot product to a small GPT",
    # Hidden cases depend on this number; keep it secret. For a new term, choose a new one
    # (python -c "import secrets; print(secrets.randbits(128))") and run `tensorgrade build`.
    seed=202169708586065274870388270338010035717,
    chapters=(
        "ch1_simplified_attention",
        "ch2_self_attention",
        "ch3_causal_attention",
        "ch4_multi_head_attention",
        "ch5_beyond_one_sentence",
        "ch6_small_gpt",
    ),
    # Override an exercise's points here, for example {"softmax": 12}. Each check keeps its share.
    # By default an exercise is worth the sum of its checks in graders/.
    points={},
    # Packages that learners may import in addition to torch, in the kit and in the sandbox.
    packages=("einops", "jaxtyping"),
    tolerances={"cpu": FLOATS, "cuda": FLOATS},
    # Limits while a learner's chapter is graded; the docstring of `Limits` explains each one.
    limits=Limits(
        load_seconds=15,
        case_seconds=5,
        handin_seconds=120,
        processor_seconds=60,
        memory_bytes=1 << 30,
        open_files=256,
        file_bytes=16 << 20,
        reply_bytes=8 << 20,
        source_bytes=1 << 20,
    ),
    # Learner code is graded in a sandbox: docs/explanation/sandbox.md says what that promises.
    # `tensorgrade doctor` tries if it holds on a machine. "none" does without, for trusted files.
    isolation="sandbox",
    # Deadlines, and the deduction for late work, for every course system. For example
    # zone="Europe/Berlin", deadlines={"ch1_simplified_attention": "2027-01-15 23:59"},
    # share_a_day=0.2 (of the earned points, for each started day), most=0.6, grace_seconds=600,
    # attempts="best".
    lateness=Lateness(deadlines={}),
)

if "get_config" in globals():  # nbgrader reads this file through nbgrader_config.py
    c = get_config()  # noqa: F821
    c.CourseDirectory.course_id = COURSE.name
    # The gradebook: by default a file in this folder. For several instructors, use a server:
    # c.CourseDirectory.db_url = "postgresql+psycopg2://user:password@host/attention"
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    # In find-the-bug exercises, learners get the given code instead of an empty cell.
    c.GenerateAssignment.exporter_class = "tensorgrade.nbgrader_plugin.notebooks.GivenCode"
    # Points come from the hidden graders in a sandbox; submitted notebooks are never executed.
    # A broken notebook earns no points, and stops no other one.
    c.Autograde.exporter_class = "tensorgrade.nbgrader_plugin.notebooks.OneByOne"
    # No learner code runs in feedback pages or in the formgrader. Feedback pages load nothing.
    c.GenerateFeedback.exporter_class = "tensorgrade.nbgrader_plugin.feedback.CleanPages"
    c.HTMLExporter.preprocessors = ["tensorgrade.nbgrader_plugin.feedback.OnlyCards"]
    c.HTMLExporter.filters = {
        "markdown2html": "tensorgrade.nbgrader_plugin.feedback.clean_markdown",
        "highlight_code": "tensorgrade.nbgrader_plugin.feedback.coloured_code",
        "strip_files_prefix": "tensorgrade.nbgrader_plugin.feedback.as_it_is",
    }
    c.Autograde.autograde_preprocessors = [
        "tensorgrade.nbgrader_plugin.autograding.HiddenGraders",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
    ]
    c.Autograde.sanitize_preprocessors = [
        "tensorgrade.nbgrader_plugin.notebooks.OwnMarks",
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "tensorgrade.nbgrader_plugin.notebooks.OwnMarks",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    # Deadlines and deductions are the ones above. A chapter without a deadline there keeps its
    # date in the formgrader.
    c.HiddenGraders.deadlines = COURSE.lateness.deadlines
    c.AssignLatePenalties.plugin_class = "tensorgrade.nbgrader_plugin.autograding.LateWork"
    c.LateWork.lateness = asdict(COURSE.lateness)
