"""What a fuzzing campaign consists of and leaves: mutants, queue, crashes, files."""
