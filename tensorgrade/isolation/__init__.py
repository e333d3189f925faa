"""The trusted side of the processes that learner code runs in: rungs, layers, a warm process."""
