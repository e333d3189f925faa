"""pytest: one plugin for public and hidden tests, and a session that stays warm."""
