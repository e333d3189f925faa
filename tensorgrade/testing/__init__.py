"""pytest: one plugin for public and hidden tests, and those tests as functions to call."""

from ..garbage import look_seldom

look_seldom()  # here, since the plugin itself begins by importing torch
