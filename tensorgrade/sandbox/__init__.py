"""Run code that nobody trusts; imports only messages, limits and errors of tensorgrade."""
