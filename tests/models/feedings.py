"""What model files are given beside an item."""

from asterism.models.tensor_models.feeding import FeedingParams


def feeding(**changes):
    """Nothing, but for what is told."""
    facts = {"input": None, "outputs": None, "constants": [], "step": None}
    facts |= {"context": 0, "pad": 0, "preprocessing": None}
    return FeedingParams(**facts | changes)
