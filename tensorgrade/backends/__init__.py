"""Where learner code runs: in this process for a learner's own check, in another for grading.

A backend has two methods. `load()` gives a Loaded. `run(cases)` gives an Observation for each
case, whatever happens on the way.
"""
