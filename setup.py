"""Puts the files of a project into the built package, for `asterism new`."""

import ast
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


def project_files() -> tuple[str, ...]:
    """Their names, read out of the module that copies them: its imports are not there yet."""
    module = ast.parse((ROOT / "src/asterism/project.py").read_text(encoding="utf-8"))
    assigned = {
        node.targets[0].id: node.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return ast.literal_eval(assigned["FILES"])


class BuildWithProject(build_py):
    """Copies them beside the modules; an editable installation has the checkout's own."""

    def run(self) -> None:
        """Build, and copy."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "asterism/project_files"
        shutil.rmtree(target, ignore_errors=True)
        for name in project_files():
            source, copy = ROOT / name, target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)


setup(cmdclass={"build_py": BuildWithProject})
