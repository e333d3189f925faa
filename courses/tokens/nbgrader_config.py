"""nbgrader loads only a file of this name; all settings are in `course_config.py`."""

load_subconfig("course_config.py")  # noqa: F821
