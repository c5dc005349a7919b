"""Model files that refer to other files, or ask for too much.

Each craft takes a path and writes the file there, with what lies beside it.
"""

import io
import json
import zipfile

import h5py
import numpy as np
import onnx
from crafted_arrays import archive
from h5py import h5d, h5p, h5s, h5t
from onnx import TensorProto, helper, numpy_helper

from reader_fuzzing.mutators.litert_files import TOO_MUCH, declaring


def classifier():
    """A small classifier of images 4×4×1."""
    import keras

    keras.utils.set_random_seed(0)
    layers = [keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(3, name="dense")]
    return keras.Sequential([*layers, keras.layers.Softmax()], name="sequential")


# ---- HDF5: each edit replaces the kernel of a file, under the name that it has there ------------


def _apart(file, name):
    """The kernel moved into a file of its own beside this one; that file's path."""
    other = f"{file.filename if isinstance(file.filename, str) else 'm'}.other"
    with h5py.File(other, "w") as target:
        target["stolen"] = np.full(file[name].shape, 7, np.float32)
    del file[name]
    return other


def external_link(file, name):
    other = _apart(file, name)
    file[name] = h5py.ExternalLink(other, "/stolen")


def soft_link(file, name):
    file.move(name, "elsewhere")
    file[name] = h5py.SoftLink("/elsewhere")


def virtual_data_set(file, name):
    shape = file[name].shape
    layout = h5py.VirtualLayout(shape, "f4")
    layout[...] = h5py.VirtualSource(_apart(file, name), "stolen", shape)
    file.create_virtual_dataset(name, layout)


def external_storage(file, name):
    shape = file[name].shape
    del file[name]
    raw = f"{file.filename}.raw"
    np.full(shape, 7, np.float32).tofile(raw)
    size = 4 * int(np.prod(shape))
    file.create_dataset(name, shape, "f4", external=[(raw, 0, size)])


def references(file, name):
    file["pointer"] = np.asarray(file[name].ref, dtype=h5py.ref_dtype)


def reference_as_an_attribute(file, name):
    file.attrs.create("pointer", file[name].ref, dtype=h5py.ref_dtype)


def group_in_itself(file, name):
    file["again"] = file["/"]


def second_name(file, name):
    file["again"] = file[name]


def filter_of_a_plugin(file, name):
    values = file[name][...]
    del file[name]
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_chunk(values.shape)
    created.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5s.create_simple(values.shape)
    h5d.create(file.id, name.encode(), h5t.IEEE_F32LE, space, created)


def data_set_of_64_gb(file, name):
    file.create_dataset("large", (16 * 10**9,), "f4", chunks=(1000,))


def chunk_of_3_gb(file, name):
    file.create_dataset("large", (1,), "f4", chunks=(75 * 10**7,), maxshape=(None,))


def attributes_by_the_thousand(file, name):
    del name
    for number in range(1001):
        file.attrs[f"a{number}"] = number


def data_set_of_texts(file, name):
    file.create_dataset(f"{name}s", data=["x"], dtype=h5py.string_dtype())


HDF5 = [
    attributes_by_the_thousand,
    data_set_of_texts,
    external_link,
    soft_link,
    virtual_data_set,
    external_storage,
    references,
    reference_as_an_attribute,
    group_in_itself,
    second_name,
    filter_of_a_plugin,
    data_set_of_64_gb,
    chunk_of_3_gb,
]


def texts_of_one_place(path, count=160_000, size=100_000):
    """Attributes are texts that are all the same 100 kB of the file: 16 GB."""
    whole = path.with_name("whole.h5")
    classifier().save(whole)
    with h5py.File(whole) as source, h5py.File(path, "w", libver="latest") as file:
        file.attrs.update(source.attrs)
        source.copy("model_weights", file)
        kind = h5py.string_dtype()
        file.attrs.create("layer_names", ["y" * size] + ["x"] * (count - 1), dtype=kind)
    content = bytearray(path.read_bytes())
    lengths = size.to_bytes(4, "little"), (1).to_bytes(4, "little")
    at = content.find(lengths[0])
    while content[at + 16 : at + 20] != lengths[1] or content[at + 32 : at + 36] != lengths[1]:
        at = content.find(lengths[0], at + 1)
        assert at > 0, "a reference is the length, the place of a heap and a number in it"
    content[at : at + 16 * count] = content[at : at + 16] * count
    path.write_bytes(content)


def groups_in_a_circle(path):
    """The nodes of a group's tree are each their own neighbour: HDF5 visits them for ever."""
    whole = path.with_name("whole.h5")
    classifier().save(whole)
    with h5py.File(whole) as source, h5py.File(path, "w") as file:
        file.attrs.update(source.attrs)
        source.copy("model_weights", file)
        for number in range(1000):
            file.create_group(f"x{number:04d}")
    content = bytearray(path.read_bytes())
    at = content.find(b"TREE")
    while at >= 0:
        content[at + 8 : at + 24] = 2 * at.to_bytes(8, "little")
        at = content.find(b"TREE", at + 4)
    path.write_bytes(content)


def whole_h5(edit):
    """A craft of a whole model's HDF5 file with an edit."""

    def craft(path):
        classifier().save(path)
        with h5py.File(path, "r+") as file:
            edit(file, _kernel(file))

    craft.__name__ = f"h5_{edit.__name__}"
    return craft


def weights_beside_json(edit):
    """A craft of Keras' .json with weights beside it that have an edit."""

    def craft(path):
        model = classifier()
        path.write_text(model.to_json())
        weights = path.with_suffix(".h5")
        model.save(weights)
        with h5py.File(weights, "r+") as file:
            edit(file, _kernel(file))

    craft.__name__ = f"json_{edit.__name__}"
    return craft


def weights_in_archive(edit):
    """A craft of a .keras file whose weights have an edit."""

    def craft(path):
        classifier().save(path)
        inner = path.with_suffix(".inner.h5")
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        inner.write_bytes(members["model.weights.h5"])
        with h5py.File(inner, "r+") as file:
            edit(file, _kernel(file))
        archive(path, [*(members | {"model.weights.h5": inner.read_bytes()}).items()])

    craft.__name__ = f"keras_{edit.__name__}"
    return craft


def _kernel(file):
    found = []
    file.visititems(lambda name, item: found.append(name) if np.shape(item) == (16, 3) else None)
    return found[0]


# ---- Keras configurations -----------------------------------------------------------------------


def _edited_config(path, edit):
    """A model's file, in the form of its suffix, with an edit of its configuration."""
    model = classifier()
    if path.suffix == ".json":
        path.write_text(json.dumps(edit(json.loads(model.to_json()))))
        model.save(path.with_suffix(".h5"))
        return
    model.save(path)
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            edited = edit(json.loads(file.attrs["model_config"]))
            if len(text := json.dumps(edited)) < 60_000:
                file.attrs["model_config"] = text
        return
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["config.json"] = json.dumps(edit(json.loads(members["config.json"]))).encode()
    archive(path, members.items())


def _wide(config):
    for layer in config["config"]["layers"]:
        if layer["class_name"] == "Dense":
            layer["config"]["units"] = 10**9
    return config


def a_billion_units(path):
    _edited_config(path, _wide)


def _enlarging(name, **options):
    """A layer without weights whose output is a thousand times what fits."""

    def craft(path):
        def edit(config):
            layers = config["config"]["layers"]
            first = next(x for x in layers if x["class_name"] == "InputLayer")
            module, added = "keras.layers", []
            for kind, given in ((name, options), ("GlobalAveragePooling2D", {})):
                layer = {"class_name": kind, "config": {"name": kind, **given}}
                added.append(layer | {"module": module, "registered_name": None})
            return config | {"config": config["config"] | {"layers": [first, *added]}}

        _edited_config(path, edit)

    craft.__name__ = f"output_of_{name}"
    return craft


LARGE_OUTPUTS = [
    _enlarging("UpSampling2D", size=[30_000, 30_000]),
    _enlarging("ZeroPadding2D", padding=[[100_000, 100_000], [100_000, 100_000]]),
    _enlarging("Resizing", height=100_000, width=100_000),
]


def layers_by_the_ten_thousand(path):
    def edit(config):
        dense = next(x for x in config["config"]["layers"] if x["class_name"] == "Dense")
        config["config"]["layers"] += [
            dense | {"config": dense["config"] | {"name": f"d{number}"}} for number in range(20_000)
        ]
        return config

    _edited_config(path, edit)


def models_in_models(path):
    def edit(config):
        for _ in range(90):
            config = config | {"config": config["config"] | {"layers": [config]}}
        return config

    _edited_config(path, edit)


def another_member(path):
    """Keras unpacks what is below assets/."""
    classifier().save(path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("assets/../../outside.txt", "x")


def weights_of_4_gb_of_zeros(path):
    classifier().save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("config.json", members["config.json"])
        file.writestr("metadata.json", members["metadata.json"])
        entry = zipfile.ZipInfo("model.weights.h5")
        entry.compress_type, entry._compresslevel = zipfile.ZIP_DEFLATED, 1
        with file.open(entry, "w", force_zip64=True) as member:
            for _ in range(400):
                member.write(bytes(10**7))


# ---- ONNX ---------------------------------------------------------------------------------------


def onnx_model(path, nodes=(), constants=(), outputs=("y",), shape=(1, 4, 4, 1)):
    """A classifier whose outputs take what some nodes make, as the last one names it."""
    weights = numpy_helper.from_array(np.ones((16, 3), np.float32), "w")
    body = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["scores"]),
        *nodes,
        helper.make_node("Softmax", ["scores"], list(outputs)),
    ]
    graph = helper.make_graph(
        body,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (shape[0], 3))],
        [weights, *constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return model


def external(path, location="data.bin", **facts):
    """The weights of a model in a file beside it."""
    model = onnx_model(path)
    tensor = model.graph.initializer[0]
    (path.parent / "data.bin").write_bytes(tensor.raw_data)
    size = len(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": location, "offset": 0, "length": size} | facts).items():
        tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())


def external_by_its_entries_alone(path):
    """The location says that the data are inside, and entries name another file."""
    external(path)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].data_location = TensorProto.DEFAULT
    path.write_bytes(model.SerializeToString())


def external_by_its_location_alone(path):
    """The location says that the data are outside, and no entry says where."""
    external(path)
    model = onnx.load(path, load_external_data=False)
    del model.graph.initializer[0].external_data[:]
    path.write_bytes(model.SerializeToString())


def address_in_memory(path):
    """ONNX Runtime takes this location for an address of its own process."""
    external(path, "*/_ORT_MEM_ADDR_/*", offset=4096)


def external_in_a_function(path):
    model = onnx_model(path)
    constant = helper.make_tensor("c", TensorProto.FLOAT, [1], [0.0])
    constant.ClearField("float_data")
    constant.data_location = TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="data.bin")
    node = helper.make_node("Constant", [], ["c"], value=constant)
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "f", [], ["c"], [node], opset))
    path.write_bytes(model.SerializeToString())


def _sized(op, inputs, *constants):
    """Nodes that make a large value and add its sum to the scores."""
    del constants
    return [
        helper.make_node(op, inputs, ["large"]),
        helper.make_node("ReduceMax", ["large"], ["most"], keepdims=0),
    ]


def constant_of_a_large_shape(path):
    shape = numpy_helper.from_array(np.array([10**6, 10**4]), "shape")
    onnx_model(path, _sized("ConstantOfShape", ["shape"]), [shape])


def expanded(path):
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    shape = numpy_helper.from_array(np.array([10**6, 10**4]), "shape")
    onnx_model(path, _sized("Expand", ["one", "shape"]), [one, shape])


def tiled(path):
    one = numpy_helper.from_array(np.ones((1, 1), np.float32), "one")
    times = numpy_helper.from_array(np.array([10**6, 10**4]), "times")
    onnx_model(path, _sized("Tile", ["one", "times"]), [one, times])


def shape_without_values(path):
    large = helper.make_tensor("large", TensorProto.FLOAT, [0], [])
    large.dims[:] = [10**6, 10**4]
    onnx_model(path, constants=[large])


def shape_below_zero(path):
    odd = helper.make_tensor("odd", TensorProto.FLOAT, [0], [])
    odd.dims[:] = [-(10**6), 10**4]
    onnx_model(path, constants=[odd])


def sparse(path):
    model = onnx_model(path)
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, indices, [10**6, 10**4])
    )
    path.write_bytes(model.SerializeToString())


def graphs_in_graphs(path):
    output = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    inner = [helper.make_node("Identity", ["scores"], ["o"])]
    for _ in range(20):
        graph = helper.make_graph(inner, "inner", [], [output])
        inner = [helper.make_node("If", ["yes"], ["o"], then_branch=graph, else_branch=graph)]
        inner[0].attribute[1].CopyFrom(inner[0].attribute[0])
        inner[0].attribute[1].g.ClearField("node")
        inner[0].attribute[0].name = "then_branch"
        inner[0].attribute[1].name = "else_branch"
    yes = numpy_helper.from_array(np.array(True), "yes")
    onnx_model(path, inner, [yes])


def batch_of_a_billion(path):
    onnx_model(path, shape=(10**9, 4, 4, 1))


def file_of_5_gb(path):
    onnx_model(path)
    with path.open("r+b") as file:
        file.truncate(5 * 10**9)


ONNX = [
    external,
    external_by_its_entries_alone,
    external_by_its_location_alone,
    address_in_memory,
    external_in_a_function,
    constant_of_a_large_shape,
    expanded,
    tiled,
    shape_without_values,
    shape_below_zero,
    sparse,
    graphs_in_graphs,
    batch_of_a_billion,
    file_of_5_gb,
]


# ---- LiteRT, PyTorch ----------------------------------------------------------------------------


def litert(path, shape=(1, 4, 4, 1), elsewhere=False):
    """A file with one tensor, which is input and output."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    tensor = schema.TensorT()
    tensor.shape, tensor.name, tensor.buffer = list(shape), b"x", 0
    graph = schema.SubGraphT()
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [tensor], [0], [0], []
    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    model.operatorCodes = []
    if elsewhere:
        group = schema.ExternalBufferGroupT()
        group.name = b"/etc/hostname"
        model.externalBufferGroups = [group]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())


def tensor_of_64_gb(path):
    litert(path, (64_000, 1000, 1000, 1))


def buffers_elsewhere(path):
    litert(path, elsewhere=True)


def offsets_that_lead_nowhere(path):
    litert(path)
    content = bytearray(path.read_bytes())
    content[60:] = b"\xff" * (len(content) - 60)
    path.write_bytes(content)


def _declaring(many):
    def craft(path):
        path.write_bytes(declaring(**many))

    craft.__name__ = "_by_".join(many)
    return craft


LITERT = [
    tensor_of_64_gb,
    buffers_elsewhere,
    offsets_that_lead_nowhere,
    *map(_declaring, TOO_MUCH),
]


def json_of_brackets(path):
    archive(path, [("m/models/model.json", b"[" * 100_000)])


def json_of_200_mb(path):
    archive(path, [("m/models/model.json", b" " * (200 * 10**6))])


def packed_by_lzma(path):
    archive(path, [("m/models/model.json", b"{}")], zipfile.ZIP_LZMA)


def weights_of_a_thousandfold(path):
    weights = io.BytesIO(bytes(10**9)).getvalue()
    archive(path, [("m/models/model.json", b"{}"), ("m/data/weights/w", weights * 2)])


TORCH = [json_of_brackets, json_of_200_mb, packed_by_lzma, weights_of_a_thousandfold]
