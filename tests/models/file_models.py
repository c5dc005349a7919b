"""Model files, opened with what a test gives them beside an item."""

from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import FileModel


def feeding(**changes):
    """Parameters of a model that takes its item alone, but for changes."""
    facts = {"input": None, "outputs": None, "constants": [], "step": None}
    facts |= {"context": 0, "pad": 0, "preprocessing": None}
    return FeedingParams(**facts | changes)


def opened(path, items, **changes):
    """A file that is tried with the items, which are images where they have four axes."""
    return FileModel(path, feeding(**changes), items.ndim == 4, items)
