"""Exported PyTorch programs of several kinds, and texts of a stranger's at any place in them."""

import copy
import json
import zipfile

import torch
from torch import nn

from hostile_text import MARK

#: What would run.
RUN = f"__import__('os').system('touch {MARK}')"
#: As a name, an argument of a function, an expression, the end of a literal, a line of its own.
TEXTS = (
    RUN,
    f"x={RUN}",
    f"x, y={RUN}):\n    pass\n{RUN}\ndef f(x",
    f"x'] or {RUN} or L['x",
    f'x"); {RUN}; ("',
    f"x\\'\\\"\u202e{MARK}\udc80",
    f"{MARK}/../../{MARK}",
    f"x{MARK}" + "x" * 5000,
)


class _Sized(nn.Module):
    """Free sizes, keywords, mappings, a constant of a method, and a size among the outputs."""

    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.dense = nn.Linear(64, 3)
        self.register_buffer("scale", torch.ones(64))

    def forward(self, images, *, flag=None, extra=None):
        found = nn.functional.avg_pool2d(self.norm(self.convolution(images)), 2)
        found = nn.functional.interpolate(found, (4, 4)).reshape(images.shape[0], -1)
        found = found * self.scale + torch.tensor(2.0) + extra["deep"][0].sum()
        return {"classes": self.dense(found), "size": found.shape[0] * 2}


class _Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.dense = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, images):
        values, (state, _) = self.cells(images[:, 0])
        return self.dense(values[:, -1]), state


def save_programs(folder):
    """Programs, each with the tensors that it takes and the outputs that it gives them."""
    torch.manual_seed(0)
    batch, height = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("height", min=8)
    images = torch.randn(3, 1, 8, 8)
    small = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(144, 3)
    )
    extra = {"deep": [torch.randn(3, 2)]}
    free = {"images": {0: batch, 2: height}, "flag": None, "extra": {"deep": [{0: batch}]}}
    made = {
        "small": (small.eval(), (images,), {}, None),
        "training": (copy.deepcopy(small).train(), (images,), {}, None),
        "sized": (_Sized().eval(), (images,), {"flag": None, "extra": extra}, free),
        "recurrent": (_Recurrent().eval(), (images,), {}, None),
    }
    programs = {}
    for name, (module, given, words, sizes) in made.items():
        program = torch.export.export(module, given, words, dynamic_shapes=sizes)
        torch.export.save(program, folder / f"{name}.pt2")
        tensors = [t for t in torch.utils._pytree.tree_leaves((given, words)) if t is not None]
        with torch.no_grad():  # as in use: a recurrent layer has another kernel then
            outputs = torch.utils._pytree.tree_leaves(program.module()(*given, **words))
        programs[name] = folder / f"{name}.pt2", tensors, outputs
    return programs


def entries(path):
    """Names and contents of an archive's entries."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents):
    """An archive of these entries."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def documents(contents):
    """The JSON documents among entries, by name."""
    return {name: json.loads(c) for name, c in contents.items() if name.endswith(".json")}


def texts_of(value, place=()):
    """Every text in a document with its place: keys of mappings end in "{}"."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str):
            yield (*place, key, "{}"), key
        if isinstance(item, str):
            yield (*place, key), item
        elif isinstance(item, dict | list):
            yield from texts_of(item, (*place, key))


def put(document, place, text):
    """Another text at a place."""
    *outer, last = place if place[-1] != "{}" else place[:-1]
    for key in outer:
        document = document[key]
    if place[-1] == "{}":
        document[text] = document.pop(last)
    else:
        document[last] = text


def renamed(value, old, new):
    """A document with a text replaced wherever it stands, also as a key."""
    if isinstance(value, dict):
        return {renamed(k, old, new): renamed(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(item, old, new) for item in value]
    return new if value == old else value
