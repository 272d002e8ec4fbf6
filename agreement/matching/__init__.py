"""Units: labels of one object, matched across annotators, with verdicts, scores and ratings for alpha."""
