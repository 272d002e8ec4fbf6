"""A demo dataset: photographs from installed wheels, labelled by three simulated annotators with known habits."""
