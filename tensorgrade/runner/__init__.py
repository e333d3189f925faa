"""What runs beside the learner's code: loads it, calls it, watches it, and knows no answer.

This folder stands alone. It imports the standard library, torch and safetensors, and nothing
else of tensorgrade, so that it can be shown to a sandboxed process without showing any more.
"""
