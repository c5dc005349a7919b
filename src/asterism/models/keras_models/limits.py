"""What a Keras file may hold, and a first reading of an HDF5 file in a process of its own.

A file holds plain HDF5 of its own, and outputs and weights that fit. A link or a data set of an
HDF5 file can refer to other files, whose content the reader then gets. A filter can load a library
by name. Reading or copying objects follows such references, so a file is inspected before anything
in it is read or copied.

HDF5 is native code: there are damaged files of which it never comes to an end, or dies. What reads
a file whole once reads it again, so a stage opens only files that a process has read before.
"""

from __future__ import annotations

import io
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
from h5py import h5a, h5d, h5g, h5l, h5o, h5t, h5z

from asterism.core.files.limits import open_zip, read_within_limit, require_size_within_limit
from asterism.core.messages.errors import UserError
from asterism.models.isolated_model import IsolatedModel, ModelCrashError, ModelHangError, Served

if TYPE_CHECKING:
    import keras


#: Of a weight and of an output: float32, which models have as they are built.
_BYTES = 4
#: Inputs that are computed at a time, at least.
_BATCH = 32
#: The method of Keras' variables that takes a weight's memory.
_ALLOCATES = "_initialize_with_initializer"


def require_small_outputs(model: keras.Model, path: Path) -> None:
    """Reject a model that makes of one input more than fits, which takes no weights at all.

    Args:
        model: as it was built; layers inside of other layers are looked at too.
        path: its file, for messages.

    Raises:
        UserError: what a layer computes of a batch is larger than ``limits.array_mb``.
    """
    for layer in model._flatten_layers():
        for node in layer._inbound_nodes:
            for tensor in node.output_tensors:
                sizes = [size for size in tensor.shape if size is not None]
                require_size_within_limit(
                    _BATCH * _BYTES * math.prod(sizes),
                    "limits.array_mb",
                    f"{path} computes by its layer {layer.name!a} values",
                )


@contextmanager
def limit_weights(path: Path) -> Iterator[None]:
    """Count the weights of models that Keras builds in the block, before they are allocated.

    Raises:
        UserError: they take more than ``limits.model_mb``.
    """
    import keras

    asked = 0
    rejections: list[UserError] = []
    # Private: Keras has no public hook between a weight's shape and its allocation.
    owner = next(c for c in keras.Variable.__mro__ if _ALLOCATES in vars(c))
    allocate = vars(owner)[_ALLOCATES]

    def counted(variable: Any, initializer: Any) -> None:
        nonlocal asked
        asked += _BYTES * math.prod(variable.shape)
        try:
            require_size_within_limit(asked, "limits.model_mb", f"{path} asks for weights")
        except UserError as error:  # Keras would replace the message by its own
            rejections.append(error)
            raise
        allocate(variable, initializer)

    setattr(owner, _ALLOCATES, counted)
    try:
        yield
    except Exception:
        if rejections:
            raise rejections[0] from None
        raise
    finally:
        setattr(owner, _ALLOCATES, allocate)


#: Those that are part of HDF5 or of h5py; HDF5 looks for others in folders of plugins.
_FILTERS = {
    h5z.FILTER_DEFLATE,
    h5z.FILTER_SHUFFLE,
    h5z.FILTER_FLETCHER32,
    h5z.FILTER_LZF,
}
#: Groups and data sets of a file, and attributes of one of them, which HDF5 counts through each
#: time. Large models have thousands of the first, and a handful of the second.
_MOST_OBJECTS, _MOST_ATTRIBUTES = 200_000, 1000
#: How a heap begins that holds texts of variable length, and where its size stands.
_HEAP, _SIZE_AT = b"GCOL\x01", 8
#: All such texts may take as much as this many of the largest attributes.
_TEXTS = 4
_LINKS = {h5l.TYPE_SOFT: "a soft link", h5l.TYPE_EXTERNAL: "a link to another file"}


def require_plain(file: h5py.File, content: bytes | mmap.mmap, path: Path) -> None:
    """Reject a file that refers to other files, or declares more than the limit.

    Args:
        file: open for reading.
        content: the same file's bytes.
        path: for messages.

    Raises:
        UserError: it holds soft, external or user-defined links, an object under two names, a
            virtual data set or one with external storage, a filter of a plugin, references, or
            named types; its data sets declare more than ``limits.model_mb``; or it has too many
            parts.
    """
    declared = texts = 0
    longest = _largest_heap(content)
    for name, identity in _objects(file, path):
        if isinstance(identity, h5d.DatasetID):
            _require_own_content(identity, name, path)
            declared += max(
                _bytes_of(shape, identity.get_type())
                for shape in (identity.get_space().shape, _chunk_of(identity))
            )
        elif not isinstance(identity, h5g.GroupID):
            raise _rejected(path, name, "a named type")
        if h5a.get_num_attrs(identity) > _MOST_ATTRIBUTES:
            raise _rejected(path, name, f"more than {_MOST_ATTRIBUTES:,} attributes")
        for number in range(h5a.get_num_attrs(identity)):
            attribute = h5a.open(identity, index=number)
            kind, part = attribute.get_type(), attribute.name.decode("utf-8", "replace")
            _require_values(kind, f"{name}@{part}", path)
            declared += _bytes_of(attribute.shape, kind)
            if _is_of_any_length(kind):  # each may be the same large text
                taken = longest * math.prod(attribute.shape or ())
                texts += taken
                most = max(taken, texts // _TEXTS)
                require_size_within_limit(
                    most, "limits.model_mb", f"{path} may hold texts in {name}@{part}"
                )
        require_size_within_limit(declared, "limits.model_mb", f"{path} declares data sets")


def _objects(file: h5py.File, path: Path) -> Iterator[tuple[str, Any]]:
    """Name and identity of every object, each once; no link but hard ones is followed."""
    root = h5o.open(file.id, b"/")
    seen = {h5o.get_info(root).addr}
    groups = [("", root)]
    yield "/", root
    while groups:
        parent, group = groups.pop()
        for link in [*group]:
            name = f"{parent}/{link.decode('utf-8', 'replace')}"
            kind = group.links.get_info(link).type
            if kind != h5l.TYPE_HARD:
                raise _rejected(path, name, _LINKS.get(kind, "a link of another library's"))
            identity = h5o.open(group, link)
            address = h5o.get_info(identity).addr
            if address in seen:
                raise _rejected(path, name, "a second name of an object")
            seen.add(address)
            if len(seen) > _MOST_OBJECTS:
                raise UserError(f"{path} holds more than {_MOST_OBJECTS:,} groups and data sets")
            yield name, identity
            if isinstance(identity, h5g.GroupID):
                groups.append((name, identity))


def _require_own_content(dataset: h5d.DatasetID, name: str, path: Path) -> None:
    created = dataset.get_create_plist()
    if created.get_layout() == h5d.VIRTUAL:
        raise _rejected(path, name, "a virtual data set")
    if created.get_external_count():
        raise _rejected(path, name, "a data set with external storage")
    for number in range(created.get_nfilters()):
        if created.get_filter(number)[0] not in _FILTERS:
            raise _rejected(path, name, "a data set with a filter of a plugin")
    _require_values(dataset.get_type(), name, path)
    if _is_of_any_length(dataset.get_type()):
        raise _rejected(path, name, "a data set of texts of any length")


def _is_of_any_length(kind: Any) -> bool:
    return isinstance(kind, h5t.TypeStringID) and kind.is_variable_str()


def _largest_heap(content: bytes | mmap.mmap) -> int:
    """Bytes of the largest heap of texts: no text of variable length in the file is longer."""
    largest, at = 0, content.find(_HEAP)
    while at >= 0:
        size = int.from_bytes(content[at + _SIZE_AT : at + 2 * _SIZE_AT], "little")
        if size <= len(content):  # else the letters stand there by chance
            largest = max(largest, size)
        at = content.find(_HEAP, at + 1)
    return largest


def _require_values(kind: Any, name: str, path: Path) -> None:
    """Allow numbers and strings; reject references and types made of other types."""
    match kind.get_class():
        case h5t.INTEGER | h5t.FLOAT | h5t.STRING:
            return
        case h5t.ENUM:  # h5py's truth values
            return
        case h5t.REFERENCE:
            raise _rejected(path, name, "references")
    raise _rejected(path, name, "values that are neither numbers nor strings")


def _chunk_of(dataset: h5d.DatasetID) -> tuple[int, ...]:
    """The shape in which values are packed, and unpacked, which may be larger than their own."""
    created = dataset.get_create_plist()
    return created.get_chunk() if created.get_layout() == h5d.CHUNKED else ()


def _bytes_of(shape: tuple[int, ...] | None, kind: Any) -> int:
    width: int = kind.get_size()
    return math.prod(shape or ()) * width


def _rejected(path: Path, name: str, what: str) -> UserError:
    return UserError(
        f"{path} holds {what} ({name}): only plain groups and data sets of the file's own are read"
    )


#: What Keras calls the weights in a ``.keras`` archive.
WEIGHTS = "model.weights.h5"
#: Seconds that the process may take: a thousand times what large files need.
PATIENCE_S = 60.0


def require_readable_hdf5(path: Path) -> None:
    """Reject a Keras file whose weights HDF5 cannot read to their end.

    Args:
        path: ``.keras``, ``.h5``, ``.hdf5``, or a ``.json`` with weights beside it.

    Raises:
        UserError: the process that read it hung, or died.
    """
    try:
        with IsolatedModel(path, serve_nothing, [str(path)], patience=PATIENCE_S, forked=False):
            return
    except (ModelCrashError, ModelHangError) as error:
        raise UserError(f"{path} is damaged: HDF5 cannot read it to its end ({error})") from None


def serve_nothing(path: str) -> Served:
    """Read a Keras file to its end, and answer nothing: for the other process."""
    with suppress(Exception):  # the second reading meets it as well, and tells it
        read_whole_file(Path(path))
    return {}, lambda _: []


def read_whole_file(path: Path) -> None:
    """Everything that Keras and this package read of a file, and more."""
    if path.suffix == ".keras":
        with open_zip(path, "limits.model_mb") as archive:
            content = archive.read(WEIGHTS)
    else:
        weights = path.with_suffix(".h5") if path.suffix == ".json" else path
        content = read_within_limit(weights, "limits.model_mb")
    with h5py.File(io.BytesIO(content)) as file:
        require_plain(file, content, path)
        found: list[h5py.Group | h5py.Dataset] = [file]
        file.visititems(lambda _, part: found.append(part))
        for part in found:
            dict(part.attrs)
            if isinstance(part, h5py.Dataset):
                part[()]
