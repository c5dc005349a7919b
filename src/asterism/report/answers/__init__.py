"""The front page's answers: what is read of the results, and the rules that make sentences of it.

A module holds the rules of one lane: pure functions from numbers to an answer.
"""
