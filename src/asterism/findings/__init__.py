"""A collection of findings: campaigns that fill it, and checks that say which bugs live."""
