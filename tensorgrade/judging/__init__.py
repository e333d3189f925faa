"""From what was seen to a verdict on one check: agreement, what differs, what to say."""
