"""The trusted side of the processes that run learner code: isolation levels and a warm process."""
