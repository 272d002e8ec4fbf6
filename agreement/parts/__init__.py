"""For which part of the data: the main numbers of a run on the parts of its samples."""
