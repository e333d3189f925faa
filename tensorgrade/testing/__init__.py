"""The pytest plugin for public and hidden tests, and a way to call these tests as functions."""

from ..gc_settings import collect_garbage_rarely

collect_garbage_rarely()  # here, because the plugin starts by importing torch
