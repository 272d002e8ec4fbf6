"""Whole reports, comparisons and decisions as sections, Markdown and data frames."""
