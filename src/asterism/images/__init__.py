"""Images as uint8 ``(N, H, W, C)``: mutators, and bounds on how far a mutant may stray."""
