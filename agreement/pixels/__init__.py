"""Agreement on pixels: semantic masks, with one class per pixel from every annotator."""
