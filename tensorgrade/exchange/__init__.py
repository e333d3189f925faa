"""What is asked of learner code, what came back, and how both are stored."""
