"""The learner's side: load learner code, call it and watch it, without knowing any answer.

This folder depends on the standard library, torch and safetensors only, and imports nothing else
of tensorgrade. A sandboxed process can therefore see it without seeing the rest.
"""
