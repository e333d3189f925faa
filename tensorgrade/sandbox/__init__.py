"""The trusted side of the processes in which learner code runs."""
