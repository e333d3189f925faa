"""pytest: one plugin for public and hidden tests, and a session that stays warm."""

from ..garbage import look_seldom

look_seldom()  # here, since the plugin itself begins by importing torch
