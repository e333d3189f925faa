"""The classes that nbgrader loads: hidden graders instead of `Execute`, and script conversion.

`course_config.py` names these classes. nbgrader's other commands are unchanged.
"""
