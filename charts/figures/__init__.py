"""Plotly figures of a report."""
