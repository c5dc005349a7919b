"""Model files of any signature, run batch by batch: named inputs in, one row of numbers out."""
