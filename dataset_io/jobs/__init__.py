"""What changes a run as a whole: compute, update, rename, delete; and join or split annotators' fields."""
