"""The course: chapters, seed, tolerances, limits; and nbgrader's settings.

Everything that an instructor decides stands here. Exercises stand in `solutions/`, their points
beside the tests in `graders/`. `tensorgrade build` carries it all into every derived file.
nbgrader reads the same file through `nbgrader_config.py`.
"""

from dataclasses import asdict

from tensorgrade import Lateness, Limits, Settings, Tolerance

FLOATS = {
    # Right answers differ: a sqrt taken in float32, a 1e-6 added to a row sum. Known mistakes
    # move a value of these cases by far more (tests/course/test_tolerances.py measures both).
    "float64": Tolerance(relative=1e-5, absolute=1e-5),
    "float32": Tolerance(relative=1e-4, absolute=1e-4),
}

COURSE = Settings(
    name="attention",
    title="Attention, from a dot product to a small GPT",
    # Hidden cases are drawn from this number, which never leaves this side. A new term takes a new
    # one (python -c "import secrets; print(secrets.randbits(128))"), and `tensorgrade build`.
    seed=202169708586065274870388270338010035717,
    chapters=(
        "ch1_simplified_attention",
        "ch2_self_attention",
        "ch3_causal_attention",
        "ch4_multi_head_attention",
        "ch5_beyond_one_sentence",
        "ch6_small_gpt",
    ),
    # What an exercise is worth, where that is not to be the sum of its tests in graders/; each
    # test keeps its share. For example {"softmax": 12}.
    points={},
    # What a chapter's hand-in carries beside the learner's code: weights as safetensors, by the
    # file's name, and how many bytes it may have. `tensorgrade train` writes 470,000.
    beside={"ch6_small_gpt": {"my_model.safetensors": 1 << 20}},
    # What learners may import besides torch: in the kit, in the graders' sandbox, everywhere.
    packages=("einops", "jaxtyping"),
    tolerances={"cpu": FLOATS, "cuda": FLOATS},
    # What one learner's file may use, in seconds, bytes and pieces.
    limits=Limits(
        load_seconds=15,
        case_seconds=5,
        handin_seconds=120,
        processor_seconds=60,
        memory_bytes=1 << 30,
        processes=64,
        open_files=256,
        file_bytes=16 << 20,
        folder_bytes=16 << 20,
        folder_files=256,
        reply_bytes=8 << 20,
        source_bytes=1 << 20,
    ),
    # Grading refuses on a machine that gives less: full, namespaces, landlock, uid or none
    # (docs/explanation/isolation.md says what each protects from; `tensorgrade doctor` what there
    # is).
    isolation="namespaces",
    # When chapters are due, and what late work loses, on every route to a grade. For example
    # zone="Europe/Berlin", deadlines={"ch1_simplified_attention": "2027-01-15 23:59"},
    # share_a_day=0.2 (of the earned points, for each day begun), most=0.6, grace_seconds=600,
    # attempts="best".
    lateness=Lateness(deadlines={}),
)

if "get_config" in globals():  # nbgrader reads this file through nbgrader_config.py
    c = get_config()  # noqa: F821
    c.CourseDirectory.course_id = COURSE.name
    # The gradebook: a file beside this one, or, for several instructors at once, a server:
    # c.CourseDirectory.db_url = "postgresql+psycopg2://user:password@host/attention"
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    # Where a mistake is to be found, learners get the code that has it.
    c.GenerateAssignment.exporter_class = "tensorgrade.nbgrader_plugin.releasing.GivenCode"
    # Points come from the hidden graders, in a sandbox; no submitted notebook is ever executed.
    # Whatever a submitted file holds, its learner has points and a page, and the others theirs.
    c.Autograde.exporter_class = "tensorgrade.nbgrader_plugin.reading.SoundNotebook"
    # Nothing that a learner wrote runs in a feedback page, or in the formgrader's.
    c.GenerateFeedback.exporter_class = "tensorgrade.nbgrader_plugin.feedback.CleanPages"
    c.HTMLExporter.preprocessors = ["tensorgrade.nbgrader_plugin.feedback.CleanOutputs"]
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
        "nbgrader.preprocessors.ClearOutput",
        "tensorgrade.nbgrader_plugin.tidying.TidyMarks",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "tensorgrade.nbgrader_plugin.tidying.TidyMarks",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    # Deadlines and penalties are those above; a chapter without a deadline there keeps the date
    # that it has in the formgrader.
    c.HiddenGraders.deadlines = COURSE.lateness.deadlines
    c.HiddenGraders.beside = COURSE.beside
    c.AssignLatePenalties.plugin_class = "tensorgrade.nbgrader_plugin.late_work.LateWork"
    c.LateWork.lateness = asdict(COURSE.lateness)
    # Learners may submit `.py` files too; docs/how-to/nbgrader.md says which file counts.
    c.ExchangeFactory.collect = "tensorgrade.nbgrader_plugin.collecting.CollectScriptsToo"
