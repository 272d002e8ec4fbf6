"""Evidence: rankings and findings only where enough data and a test support them."""
