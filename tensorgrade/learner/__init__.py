"""What only learners use: watching files, a notebook's checks, pictures."""
