"""Cases for learner code, the checked results of running them, and the storage of both."""
