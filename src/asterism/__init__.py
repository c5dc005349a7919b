"""Asterism: a reproducible pipeline that tests deep-learning systems.

Its functions are imported when they are first used, so that ``import asterism`` takes no time.
"""

from importlib import import_module

__version__ = "0.1.0"

#: What programs use, and the module that holds it.
_MODULES = {
    "UserError": "core.messages.errors",
    "Vetting": "api.vetting",
    "compare_libraries": "api.libraries",
    "judge_tests": "api.judging",
    "states": "api.states",
    "vet": "api.vetting",
}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
