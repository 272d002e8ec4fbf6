"""A report as text, tables and figures."""
