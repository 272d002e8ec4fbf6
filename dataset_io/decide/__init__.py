"""Adjudication: decisions on the right version of disputed objects, and the accuracy of every annotator."""
