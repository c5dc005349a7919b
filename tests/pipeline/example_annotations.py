"""Evaluates the annotations of functions in the examples of ``docs/extending.md``."""

import ast
import inspect
import sys
import types
import typing

from extending_page import examples


def functions_of(module):
    """Functions that a module has, and methods of its classes, with the names of their class."""
    for part in vars(module).values():
        names = vars(part) if inspect.isclass(part) else {"": part}
        for method in names.values():
            if inspect.isfunction(function := getattr(method, "__func__", method)):
                yield function, dict(names)


def evaluated(path, text):
    """How many functions a module defines whose annotations can be evaluated.

    What it imports for type checkers only is imported first.
    """
    module = sys.modules[path] = types.ModuleType(path)
    exec(compile(text, path, "exec"), vars(module))
    for node in ast.parse(text).body:
        if isinstance(node, ast.If):
            exec(ast.unparse(node.body), vars(module))
    own = [each for each in functions_of(module) if each[0].__code__.co_filename == path]
    return len([typing.get_type_hints(function, localns=names) for function, names in own])


if __name__ == "__main__":
    for example in examples():
        number = evaluated(example.module, example.files[example.module])
        sys.stdout.write(f"{example.module} {number}\n")
