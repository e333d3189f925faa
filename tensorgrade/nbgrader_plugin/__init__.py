"""What nbgrader loads: hidden graders in the place of `Execute`, and scripts poured into notebooks.

`course_config.py` names these classes; nbgrader finds the rest of its commands as they were.
"""
