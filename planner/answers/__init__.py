"""What people ask, a room for each question."""
