"""What a finished run says: its report on any view, samples, comparison, files."""
