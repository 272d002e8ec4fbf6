"""Agreement on objects: labels that are matched across annotators, whatever their geometry."""
