"""What a user chooses, and how it is checked: options, annotators, messages."""
