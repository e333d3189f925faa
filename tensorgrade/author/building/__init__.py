"""Build every generated file from `solutions/`, `graders/` and the config."""
