"""The judging of tensors: agreement, where they differ, and the properties of attention's parts."""
