"""The classes that nbgrader loads: hidden graders instead of `Execute`, readers and clean pages.

`course_config.py` names these classes. nbgrader's other commands are unchanged.
"""
