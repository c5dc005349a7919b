"""Archives of ``torch.export.save`` (``.pt2``), rewritten before PyTorch sees them.

``torch.export.load`` unpickles parts of the archive, evaluates its sizes as Python expressions,
calls whatever function a node names and writes names of the file into source that it executes. So
only what a program is made of is read, and written anew: see
:mod:`asterism.models.foreign.torch_program`.
"""

from __future__ import annotations

import io
import json
import logging
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.limits import open_zip, parse_json, require_size_within_limit
from asterism.core.messages.errors import UserError, extract_reason
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.torch_program import ProgramRewriting, bytes_of

_PROGRAM = "models/model.json"
#: Weights and other constants: their folders, the documents about them and how entries are called.
_PAYLOADS = (
    ("data/weights/", "data/weights/model_weights_config.json", "weight_"),
    ("data/constants/", "data/constants/model_constants_config.json", "tensor_"),
)
#: What an archive may also hold, and no program is made of.
_UNREAD = re.compile(
    r"\.data/\w+|\.format_version|\.storage_alignment|version|archive_format|archive_version|"
    r"data/sample_inputs/model\.pt|extra/.*",
    re.DOTALL,
)
_TENSOR = re.compile(r"data/(weights/weight|constants/tensor)_\d{1,9}", re.ASCII)

#: What PyTorch asks for beside a program; an empty file stands for no sample inputs.
_FIXED = {
    "archive_format": b"pt2",
    "archive_version": b"0",
    ".data/version": b"6\n",
    "byteorder": b"little",
    "data/sample_inputs/model.pt": b"",
}


@dataclass(frozen=True)
class ForeignProgram:
    """An exported PyTorch program of others, as an archive of ours.

    Args:
        path: the file, for messages.
        content: the archive; every name in it is ours.
        names: give the file's name for one of ours.
    """

    path: Path
    content: bytes
    names: NameMap

    def module(self, device: str = "cpu") -> Any:
        """The program as a module of PyTorch, which takes its inputs in order and gives a tuple.

        Args:
            device: where its weights lie, and where it makes tensors of its own.

        Raises:
            UserError: PyTorch does not open it.
        """
        import torch

        try:
            with warnings.catch_warnings(), _raising_what_is_logged():
                warnings.simplefilter("ignore")
                program = torch.export.load(io.BytesIO(self.content))
                if device != "cpu":
                    from torch.export.passes import move_to_device_pass

                    program = move_to_device_pass(program, device)
                return program.module(check_guards=False)
        except Exception as error:  # whatever a foreign file makes PyTorch raise
            said = extract_reason(str(error)) or type(error).__name__
            reason = re.sub(r"\b[a-z]{1,3}\d+\b", lambda ours: self.names.theirs(ours[0]), said)
            raise UserError(f"PyTorch cannot open {self.path}: {reason}") from None


@contextmanager
def _raising_what_is_logged() -> Iterator[None]:
    """PyTorch's loader logs what is wrong, and raises an error that refers to its log."""
    logged: list[BaseException] = []

    def taken(record: logging.LogRecord) -> bool:
        logged.extend(filter(None, (record.exc_info or ())[1:2]))
        return False

    log = logging.getLogger("torch.export")
    log.addFilter(taken)
    try:
        yield
    except RuntimeError as error:
        raise next(iter(logged), error) from None
    finally:
        log.removeFilter(taken)


def rewrite_program(path: Path) -> ForeignProgram:
    """An exported program with names of ours, in which nothing can do more than compute.

    Raises:
        UserError: it holds something else, exceeds a limit, or is no such archive.
        ModuleNotFoundError: PyTorch is not installed, or TorchAO, whose operators it calls.
    """
    try:
        with open_zip(path, "limits.model_mb") as archive:
            return _Archive(archive, path).rewritten()
    except (UserError, ModuleNotFoundError):
        raise
    except Exception as error:  # whatever a damaged archive makes zipfile raise
        reason = extract_reason(str(error)) or type(error).__name__
        raise UserError(f"{path} is no archive of torch.export.save: {reason}") from None


class _Archive:
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive = archive
        self._path = path
        self._folder = archive.namelist()[0].partition("/")[0]
        self._rewriting = ProgramRewriting(str(path))
        self._room = 0

    def rewritten(self) -> ForeignProgram:
        self._require_known(self._archive.namelist())
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w") as anew:
            for name, content in _FIXED.items():
                anew.writestr(f"archive/{name}", content)
            program = self._rewriting.program(self._document(_PROGRAM))
            anew.writestr(f"archive/{_PROGRAM}", json.dumps(program))
            for folder, config, entry in _PAYLOADS:
                facts = self._rewriting.payload(self._document(config))
                anew.writestr(f"archive/{config}", json.dumps({"config": facts}))
                self._require_room(facts)
                sizes: dict[str, int] = {}
                for name in dict.fromkeys(fact["path_name"] for fact in facts.values()):
                    if not name.startswith(entry):
                        raise self._rejected(f"{folder}{name}")
                    content = self._archive.read(f"{self._folder}/{folder}{name}")
                    sizes[name] = len(content)
                    anew.writestr(f"archive/{folder}{name}", content)
                for fact in facts.values():
                    self._require_inside(fact, sizes[fact["path_name"]])
        return ForeignProgram(self._path, copy.getvalue(), self._rewriting.names)

    def _require_known(self, names: list[str]) -> None:
        inside = [name.removeprefix(f"{self._folder}/") for name in names]
        if not any(name.startswith("models/") for name in inside):
            raise UserError(
                f"{self._path} is no archive of torch.export.save (pickled models are not read: "
                "export yours with torch.export)"
            )
        known = {_PROGRAM, "byteorder", *(config for _, config, _ in _PAYLOADS)}
        for whole, name in zip(names, inside, strict=True):
            may_be = name in known or _TENSOR.fullmatch(name) or _UNREAD.fullmatch(name)
            if whole == name or not may_be:
                raise self._rejected(whole)
        if "byteorder" in inside and self._archive.read(f"{self._folder}/byteorder") != b"little":
            raise self._rejected("weights of another byte order")

    def _document(self, name: str) -> Any:
        entry = self._archive.getinfo(f"{self._folder}/{name}")
        require_size_within_limit(
            entry.file_size, "limits.text_mb", f"{self._path} declares {name}"
        )
        return parse_json(self._archive.read(entry), str(self._path))

    def _require_room(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Before any weight is read: what all declare together, also where they share bytes."""
        for fact in facts.values():
            if fact["tensor_meta"] is None:
                raise self._rejected(f"{fact['path_name']} without a description")
            self._room += bytes_of(fact["tensor_meta"])
        require_size_within_limit(self._room, "limits.model_mb", f"{self._path} declares weights")

    def _require_inside(self, fact: Mapping[str, Any], length: int) -> None:
        """Reject a weight that is more than its bytes: PyTorch would make it up, or read others."""
        meta, name = fact["tensor_meta"], fact["path_name"]
        sizes, strides, (offset,) = (
            [number.get("as_int", -1) for number in numbers]
            for numbers in (meta["sizes"], meta["strides"], [meta["storage_offset"]])
        )
        if min((offset, *sizes, *strides)) < 0 or len(sizes) != len(strides):
            raise self._rejected(f"{name} of a negative or free size")
        last = offset + sum((size - 1) * s for size, s in zip(sizes, strides, strict=True))
        one = bytes_of({"dtype": meta["dtype"], "sizes": []})
        if 0 not in sizes and (last + 1) * one > length:
            raise self._rejected(f"{name} of {length:,} bytes, which declares more")

    def _rejected(self, what: str) -> UserError:
        return UserError(
            f"{self._path} holds {what!r:.120}, which no exported program needs or which could run "
            "foreign code: not opened"
        )
