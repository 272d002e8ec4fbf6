"""Confidence intervals by resampling samples."""
