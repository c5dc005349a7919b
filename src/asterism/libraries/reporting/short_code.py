"""How a short script converts and runs a model: a few lines for each backend that has some.

A backend without lines here gets the longer function that its plug-in gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from asterism.libraries.adapters.library import CONVERTERS


@dataclass(frozen=True)
class Code:
    """Lines of Python.

    Args:
        imports: modules that the lines use, beside Keras and NumPy.
        lines: what they do. ``GIVEN`` stands for the inputs as the model takes them, ``PATH`` for
            the name of the file that a converter writes into the current folder.
    """

    imports: tuple[str, ...]
    lines: tuple[str, ...]


_CALL = "keras.tree.flatten({})"
_AS_ARRAYS = "outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten({})]"


def _called(function: str, *imports: str) -> Code:
    return Code(imports, (_AS_ARRAYS.format(f"{function}(GIVEN, training=False)"),))


_JIT = "jax.jit(lambda x: model(x, training=False))"


def _saved(suffix: str) -> Code:
    name = f'"saved{suffix}"'
    loaded = f"keras.saving.load_model({name}, compile=False)(GIVEN, training=False)"
    return Code((), (f"model.save({name})", _AS_ARRAYS.format(loaded)))


def _over_items() -> Code:
    lines = (
        "batch = lambda x: jax.tree.map(lambda a: a[None], x)",
        "item = lambda x: jax.tree.map(lambda a: a[0], model(batch(x), training=False))",
        _AS_ARRAYS.format("jax.vmap(jax.jit(item))(GIVEN)"),
    )
    return Code(("import jax",), lines)


#: By library and option, for models that Keras builds.
_BUILT = {
    "tensorflow:eager": _called("model"),
    "tensorflow:graph": _called("tf.function(model)", "import tensorflow as tf"),
    "tensorflow:xla": _called("tf.function(model, jit_compile=True)", "import tensorflow as tf"),
    "tensorflow:float64": _called("model"),
    "pytorch:eager": _called("model"),
    "pytorch:compile": _called("torch.compile(model)", "import torch"),
    "pytorch:float64": _called("model"),
    "jax:eager": _called("model"),
    "jax:jit": Code(("import jax",), (_AS_ARRAYS.format(f"{_JIT}(GIVEN)"),)),
    "jax:float64": Code(("import jax",), (_AS_ARRAYS.format(f"{_JIT}(GIVEN)"),)),
    **{f"{library}:keras_file": _saved(".keras") for library in ("tensorflow", "pytorch")},
    "tensorflow:h5_file": _saved(".h5"),
    "tensorflow:saved_model": Code(
        ("import tensorflow as tf",),
        (
            'model.export("saved", format="tf_saved_model", verbose=False)',
            _AS_ARRAYS.format('tf.saved_model.load("saved").serve(GIVEN)'),
        ),
    ),
    "pytorch:compile_dynamic": _called("torch.compile(model, dynamic=True)", "import torch"),
    "pytorch:export": Code(
        ("import torch",),
        (
            "given = (keras.tree.map_structure(torch.from_numpy, GIVEN),)",
            "free = torch.utils._pytree.tree_map(lambda _: {0: torch.export.Dim.DYNAMIC}, given)",
            "program = torch.export.export(model.eval(), given, dynamic_shapes=(free,))",
            "outputs = keras.tree.flatten(program.module()(*given))",
            "outputs = [o.detach().numpy() for o in outputs]",
        ),
    ),
    **{f"jax:{option}": _over_items() for option in ("vmap", "vmap_of_gradient")},
    "jax:export": Code(
        ("import jax", "import jax.export"),
        (
            f"program = jax.export.export({_JIT})(GIVEN).serialize()",
            _AS_ARRAYS.format("jax.export.deserialize(program).call(GIVEN)"),
        ),
    ),
    "numpy:float64": _called("model"),
    "openvino_keras:predict": Code(
        (), (f"outputs = {_CALL.format('model.predict_on_batch(GIVEN)')}",)
    ),
}

#: By converter: they write the file ``PATH``.
_CONVERTED = {
    "keras_onnx": Code(
        (),
        (
            "model(GIVEN, training=False)",
            'model.export(PATH, format="onnx", verbose=False)',
        ),
    ),
    "tf2onnx": Code(
        ("import tensorflow as tf", "import tf2onnx"),
        (
            "spec = [tf.TensorSpec((None, *i.shape[1:]), i.dtype) for i in model.inputs]",
            "function = tf.function(lambda *inputs: model(GIVEN, training=False), spec)",
            "tf2onnx.convert.from_function(function, spec, opset=18, output_path=PATH)",
        ),
    ),
    "tflite": Code(
        ("import tensorflow as tf",),
        (
            "fixed = [keras.Input(batch_shape=x.shape, dtype=x.dtype.name) for x in inputs]",
            "model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))",
            "content = tf.lite.TFLiteConverter.from_keras_model(model).convert()",
            'open(PATH, "wb").write(content)',
        ),
    ),
}


_SESSION_RUN = (
    "names = [i.name for i in session.get_inputs()]",
    "outputs = session.run(None, dict(zip(names, inputs)))",
)

_NO_GRAD = (
    "outputs = torch.no_grad()(module.eval())(*map(torch.from_numpy, inputs))",
    "outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]",
)

_LEVELS = ("BASIC", "EXTENDED", "LAYOUT")


def _at_level(level: str) -> Code:
    lines = (
        "options = ort.SessionOptions()",
        f"options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_{level}",
        "session = ort.InferenceSession(PATH, options)",
    )
    return Code(("import onnxruntime as ort",), (*lines, *_SESSION_RUN))


def _with_kernels(name: str) -> Code:
    lines = (
        f"kernels = OpResolverType.{name}",
        "interpreter = Interpreter(PATH, experimental_op_resolver_type=kernels)",
        "runner = interpreter.get_signature_runner()",
        "given = dict(zip(sorted(runner.get_input_details()), inputs))",
        "outputs = [o for _, o in sorted(runner(**given).items())]",
    )
    return Code(("from ai_edge_litert.interpreter import Interpreter, OpResolverType",), lines)


def _at_precision(hint: str) -> Code:
    lines = (
        f'hint = {{"INFERENCE_PRECISION_HINT": "{hint}"}}',
        'compiled = ov.Core().compile_model(PATH, "CPU", hint)',
        "outputs = list(compiled(inputs).to_tuple())",
    )
    return Code(("import openvino as ov",), lines)


#: By library, and the ending of its option: they read the file ``PATH``.
_READ = {
    ("onnxruntime", ""): Code(
        ("import onnxruntime as ort",),
        (
            "options = ort.SessionOptions()",
            "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL",
            "session = ort.InferenceSession(PATH, options)",
            *_SESSION_RUN,
        ),
    ),
    **{("onnxruntime", f"_{level.lower()}"): _at_level(level) for level in _LEVELS},
    ("onnxruntime", "_optimised"): Code(
        ("import onnxruntime as ort",),
        ("session = ort.InferenceSession(PATH)  # all optimisations", *_SESSION_RUN),
    ),
    ("openvino", ""): _at_precision("f32"),
    ("openvino", "_f16"): _at_precision("f16"),
    ("openvino", "_bf16"): _at_precision("bf16"),
    ("litert", ""): Code(
        ("from ai_edge_litert.interpreter import Interpreter",),
        (
            "runner = Interpreter(PATH).get_signature_runner()",
            "given = dict(zip(sorted(runner.get_input_details()), inputs))",
            "outputs = [o for _, o in sorted(runner(**given).items())]",
        ),
    ),
    ("litert", "_without_xnnpack"): _with_kernels("BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    ("litert", "_plain"): _with_kernels("BUILTIN_REF"),
    ("onnx2torch", ""): Code(
        ("import onnx2torch", "import torch"), ("module = onnx2torch.convert(PATH)", *_NO_GRAD)
    ),
    ("onnx2pytorch", ""): Code(
        ("import onnx", "import onnx2pytorch", "import torch"),
        ("module = onnx2pytorch.ConvertModel(onnx.load(PATH))", *_NO_GRAD),
    ),
}


def reading_code(library: str, ending: str, suffix: str) -> Code | None:
    """Imports and lines that run a file, however it was written.

    Args:
        library: that reads it.
        ending: of the library's option, behind the name of where the file is from.
        suffix: of the file's name.
    """
    code = _READ.get((library, ending))
    if code is None:
        return None
    return Code(
        code.imports, tuple(line.replace("PATH", f'"model{suffix}"') for line in code.lines)
    )


def short_code(library: str, option: str, converter: str | None, inputs: int) -> Code | None:
    """Imports and lines that set ``outputs``; None where there are none for the backend.

    Args:
        library: that runs the model; empty where only the conversion matters.
        option: its backend.
        converter: whose file it reads; None where it runs the Keras model.
        inputs: how many the model has.
    """
    if converter is None:
        parts = [_BUILT.get(f"{library}:{option}")]
    else:
        parts = [_CONVERTED.get(converter)]
        if library:
            parts.append(_READ.get((library, option.removeprefix(converter))))
        else:
            parts.append(Code((), ("outputs = []",)))
        if library == "litert" and inputs > 1:  # in the file their order is another one
            return None
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    given = "inputs" if inputs > 1 else "inputs[0]"
    path = f'"model{CONVERTERS[converter].suffix}"' if converter is not None else ""
    named = (line.replace("GIVEN", given) for part in known for line in part.lines)
    lines = (line.replace("PATH", path) for line in named)
    return Code(tuple(dict.fromkeys(i for part in known for i in part.imports)), tuple(lines))
