"""Derives every generated file from `solutions/`, `graders/cases`, `graders/mistakes` and the config."""
