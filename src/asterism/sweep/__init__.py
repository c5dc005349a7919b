"""Many runs of the pipeline: points of a sweep, and the stages of one run side by side."""
