"""The numbers of a report on objects as functions of sums over samples, by what they are about."""
