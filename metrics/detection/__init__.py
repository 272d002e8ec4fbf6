"""Average precision of one annotator's objects as detections of another's."""
