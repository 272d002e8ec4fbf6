"""Agreement on pixels: semantic masks, one class a pixel, by every annotator."""
