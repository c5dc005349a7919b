"""Tests that need packages of extras in processes of their own, where no error names them."""

from importlib.util import find_spec

import pytest

from asterism.core.messages.errors import missing_extra


def needs(*modules: str) -> pytest.MarkDecorator:
    """A mark that skips a test where one of these modules is not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    told = [missing_extra(ModuleNotFoundError(name=name)) or name for name in missing]
    return pytest.mark.skipif(bool(missing), reason="; ".join(told))
