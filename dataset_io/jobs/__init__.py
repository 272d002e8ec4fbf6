"""Jobs on a whole run: compute, update, rename, delete."""
