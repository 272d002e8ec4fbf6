"""Annotators against a reference, and against models."""
