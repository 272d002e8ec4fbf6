"""Agreement of semantic masks, pixel by pixel."""
