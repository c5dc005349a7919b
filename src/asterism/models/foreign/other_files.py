"""Recognising files that no reader here opens, by their bytes, with advice on how to convert them.

Nothing of the files is executed: of a pickle only the names are looked for that it refers to.
"""

from __future__ import annotations

import re
import shlex
import zipfile
from contextlib import suppress
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import printable
from asterism.core.settings.regular_files import open_regular

#: Bytes of a file, or of an archive's member, that are looked at.
_HEAD = 1_000_000
#: What a state dictionary of PyTorch refers to.
_OF_TENSORS = re.compile(r"(collections|torch|torch\._utils|torch\.storage|torch\.serialization)")
#: A class or function that a pickle of PyTorch refers to.
_REFERENCE = re.compile(rb"c([A-Za-z_][\w.]*)\n([A-Za-z_]\w*)\n")
#: Pickles, and those that PyTorch wrote before its archives: they begin with a number of its own.
_PICKLE, _OLD_TORCH = re.compile(rb"\x80[\x02-\x05]"), b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"
#: What a line to paste leaves to the user.
_SHAPE = "(with the shape of your network's input)"

#: How the files that are read here begin, and their suffixes.
_FORMATS = {
    "LiteRT": (4, b"TFL3", (".tflite", ".lite")),
    "HDF5": (0, b"\x89HDF\r\n\x1a\n", (".h5", ".hdf5")),
}
#: Other formats by their first bytes, and what to do.
_BEGINNINGS = {
    b"version https://git-lfs": "a pointer of git-lfs, no model: get the file itself by `{lfs}`",
    b"\x1f\x8b": "an archive (gzip): unpack it, and name the model in it",
    b"7z\xbc\xaf\x27\x1c": "an archive (7z): unpack it, and name the model in it",
    b"\x28\xb5\x2f\xfd": "an archive (zstd): unpack it, and name the model in it",
}


def require_model_bytes(path: Path) -> None:
    """Reject what is no model of a format that is read here, and say what leads on.

    Raises:
        UserError: the file is empty, a page of a failed download, a pointer to the real file,
            weights without their network, or a model of another format.
    """
    with suppress(OSError):  # what is wrong with its path, the reader says
        told = _of_folder(path) if path.is_dir() else _of_file(path) if path.is_file() else None
        if told:
            raise UserError(f"{path} is {told}")


def _of_folder(path: Path) -> str | None:
    if not (path / "saved_model.pb").exists():
        return None
    code = (
        "import tensorflow as tf; "
        f"c = tf.lite.TFLiteConverter.from_saved_model({str(path)!r}); "
        f"open({_beside(path, '.tflite')}, 'wb').write(c.convert())"
    )
    return f"a SavedModel folder of TensorFlow: make one file of it by `{_python(code)}`"


def _of_file(path: Path) -> str | None:
    with open_regular(path) as file:
        head = file.read(_HEAD)
    if not head:
        return "empty: get the file again"
    for beginning, told in _BEGINNINGS.items():
        if head.startswith(beginning):
            return told.format(lfs=shlex.join(["git", "lfs", "pull", "--include", path.name]))
    text = head[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return (
            "a page of HTML, as a failed download leaves it: get the file itself (of a repository "
            "on the web by its link for downloads)"
        )
    if text.startswith((b"<?xml", b"<net ")) and b"<net" in head[:1000]:
        return (
            "a model of OpenVINO, which is not read here: give the ONNX or TensorFlow Lite file "
            "that it was made of"
        )
    if text.startswith((b"<?xml", b'{"')) and path.suffix != ".json":
        return "a text, no model: if it is the answer of a server, get the file again"
    if head.startswith(b"GGUF"):
        return _of_gguf(path)
    if head.startswith(b"PK"):
        return _of_archive(path)
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= path.stat().st_size:
        return _of_safetensors(path)
    if _PICKLE.match(head):
        return _of_pickle(path, head, torch=head[2:].startswith(_OLD_TORCH))
    for name, (place, sign, suffixes) in _FORMATS.items():
        if head[place : place + len(sign)] == sign and path.suffix not in suffixes:
            return f"a file of {name}: give it the suffix {suffixes[0]}"
    return None


def _of_archive(path: Path) -> str | None:
    """What a ZIP archive is; None of one that Keras wrote."""
    broken = suppress(zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError)
    with broken, zipfile.ZipFile(path) as archive:
        names = [name.rpartition("/")[2] for name in archive.namelist()]
        whole = archive.namelist()
        if "archive_format" in names:
            program = "a program that torch.export wrote"
            return None if path.suffix == ".pt2" else f"{program}: give it the suffix .pt2"
        if "data.pkl" in names:
            if any("/code/" in name for name in whole):
                return _of_script(path)
            place = next(name for name in whole if name.rpartition("/")[2] == "data.pkl")
            with archive.open(place) as member:
                return _of_pickle(path, member.read(_HEAD), torch=True)
        if "config.json" in names:
            if path.suffix == ".keras":
                return None
            return "a model of Keras: give it the suffix .keras"
        if all(name.endswith(".npy") for name in whole):
            return "a file of NumPy's arrays, no model: name it as --inputs"
        if path.suffix != ".keras":
            return "an archive (ZIP): unpack it, and name the model in it"
    return None


def _of_script(path: Path) -> str:
    code = f"import torch; net = torch.jit.load({str(path)!r}); {_export(path)}"
    return (
        "a TorchScript program, which is not read here: write it as ONNX by "
        f"`{_python(code)}` {_SHAPE}"
    )


def _of_pickle(path: Path, content: bytes, torch: bool) -> str:
    """What a pickle is, by the classes that it refers to: a module, a state dictionary, or else."""
    found = [(one.decode(), two.decode()) for one, two in _REFERENCE.findall(content)]
    classes = [f"{one}.{two}" for one, two in found if not _OF_TENSORS.fullmatch(one)]
    if not torch and not any(one.startswith("torch") for one, _ in found):
        return (
            "a pickle of Python objects, which is never opened here: write its model as ONNX in "
            "the program that made it"
        )
    if not classes:
        load = f"net.load_state_dict(torch.load({str(path)!r}, weights_only=True))"
        return _weights("PyTorch, a state dictionary", f"import torch; {load}; {_export(path)}")
    code = f"import torch; net = torch.load({str(path)!r}, weights_only=False); {_export(path)}"
    return (
        f"a pickled module of PyTorch ({printable(classes[0])}), which is never opened here, since "
        f"that runs code in it: if you trust it, write it as ONNX by `{_python(code)}` {_SHAPE}"
    )


def _weights(kind: str, code: str) -> str:
    return (
        f"weights ({kind}) without their network: in the program that builds the network `net`, "
        f"write it as ONNX by `{code}` {_SHAPE}"
    )


def _of_safetensors(path: Path) -> str:
    load = f"net.load_state_dict(safetensors.torch.load_file({str(path)!r}))"
    told = _weights("safetensors", f"import torch, safetensors.torch; {load}; {_export(path)}")
    if (path.parent / "config.json").exists():
        told += f"; or, of a model of transformers, by `{_optimum(path.parent, path)}`"
    return told


def _of_gguf(path: Path) -> str:
    folder = f"{path.stem}-onnx"
    code = (
        "from transformers import AutoModelForCausalLM as M, AutoTokenizer as T; "
        f"a = ({str(path.parent)!r},); k = dict(gguf_file={path.name!r}); "
        f"[c.from_pretrained(*a, **k).save_pretrained({folder!r}) for c in (M, T)]"
    )
    return (
        "a language model for llama.cpp (GGUF), which no library here runs: write its weights as "
        f"ONNX by `{_python(code)} && {_optimum(folder, path)}` (needs transformers, gguf and "
        "optimum)"
    )


def _optimum(model: Path | str, path: Path) -> str:
    """The command that writes a model of transformers as ONNX, into a folder named after a file."""
    words = ["optimum-cli", "export", "onnx", "--model"]
    return shlex.join([*words, str(model), f"{path.stem}-onnx"])


def _beside(path: Path, suffix: str = ".onnx") -> str:
    """The name of the file that is made of another, as Python writes it."""
    return repr(f"{path.stem}{suffix}")


def _export(path: Path) -> str:
    shape = "torch.zeros(1, 3, 224, 224)"
    return f"torch.onnx.export(net.eval(), {shape}, {_beside(path)}, dynamo=False)"


def _python(code: str) -> str:
    """A command line that runs code, with as few signs of quoting as a shell needs."""
    plain = not re.search(r'["$`!\\]', code)
    return f'python -c "{code}"' if plain else shlex.join(["python", "-c", code])
