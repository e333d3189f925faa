"""The pytest plugin for public and hidden tests, and a way to call these tests as functions."""

from ..gc_settings import look_seldom

look_seldom()  # here, because the plugin starts by importing torch
