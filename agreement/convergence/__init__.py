"""Label convergence: mean average precision (mAP) of annotators against each other."""
