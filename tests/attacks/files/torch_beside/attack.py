"""Puts modules named torch, json and safetensors beside the submission."""
