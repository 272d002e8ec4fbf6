"""What annotators reach against each other as detectors are measured: mean average precision."""
