"""Jobs on a whole run: compute, update, rename, delete; and join or split annotators' fields."""
