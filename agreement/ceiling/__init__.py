"""Human ceiling of detection: mean average precision (mAP) of annotators against each other."""
