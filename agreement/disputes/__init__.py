"""Disputed objects: their cost, their kinds on every sample, and the accuracy of annotators once adjudicated."""
