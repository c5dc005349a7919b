"""How a short script converts and runs a model: a few lines for each backend that has some.

A backend without lines here gets the longer function that its plug-in gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from asterism.libraries.adapters.library import CONVERTERS


@dataclass(frozen=True)
class Code:
    """Lines of Python.

    ``GIVEN`` stands for the inputs as the model takes them, ``PATH`` for the name of the file that
    a converter writes into the current folder.

    Args:
        imports: modules that the lines use, beside Keras and NumPy.
        made: lines that compile or load the model.
        called: lines that set ``outputs`` by ``inputs``; they may come again with other inputs.
        fixed: whether what is made takes inputs of these very shapes only.
        complete: whether the lines also print what is expected, and run as they are.
    """

    imports: tuple[str, ...]
    made: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    fixed: bool = False
    complete: bool = False

    def put(self, names: Mapping[str, str]) -> Code:
        """The same with words in place of the names that stand for something."""

        def said(lines: tuple[str, ...]) -> tuple[str, ...]:
            for name, word in names.items():
                lines = tuple(line.replace(name, word) for line in lines)
            return lines

        return replace(self, made=said(self.made), called=said(self.called))


_CALL = "keras.tree.flatten({})"
_AS_ARRAYS = "outputs = [keras.ops.convert_to_numpy(o) for o in keras.tree.flatten({})]"


def _called(function: str, *imports: str) -> Code:
    made, name = ((), "model") if function == "model" else ((f"function = {function}",), "function")
    return Code(imports, made, (_AS_ARRAYS.format(f"{name}(GIVEN, training=False)"),))


def _compiled(function: str, *more: str) -> Code:
    made = (*more, f"function = {function}")
    return Code(("import jax",), made, (_AS_ARRAYS.format("function(GIVEN)"),))


#: A function of the script: the inputs as what an exported model takes.
_TENSORS = "tensors = lambda x: (keras.tree.map_structure(torch.from_numpy, x),)"
_FREE_SIZES = (
    "free = keras.tree.map_structure(lambda _: {0: torch.export.Dim.DYNAMIC}, tensors(GIVEN))"
)


def _traced(*made: str, free: bool = False) -> Code:
    """By lines that make ``function`` of the program that PyTorch exports.

    Args:
        made: the lines.
        free: whether the program takes batches of any size.
    """
    sizes = ", dynamic_shapes=free" if free else ""
    # In a module of PyTorch the weights stay parameters, as they are where the finding was made.
    module = "torch.nn.Sequential(model.eval())"
    program = f"program = torch.export.export({module}, tensors(GIVEN){sizes})"
    before = (_TENSORS, _FREE_SIZES, program) if free else (_TENSORS, program)
    found = "keras.tree.flatten(function(*tensors(GIVEN)))"
    outputs = f"outputs = [o.detach().numpy() for o in {found}]"
    return Code(("import torch",), (*before, *made), (outputs,), fixed=not free)


_JIT = "jax.jit(lambda x: model(x, training=False))"


def _saved(suffix: str) -> Code:
    name = f'"saved{suffix}"'
    made = (f"model.save({name})", f"loaded = keras.saving.load_model({name}, compile=False)")
    return Code((), made, (_AS_ARRAYS.format("loaded(GIVEN, training=False)"),))


def _over_items() -> Code:
    return _compiled(
        "jax.vmap(jax.jit(item))",
        "batch = lambda x: jax.tree.map(lambda a: a[None], x)",
        "item = lambda x: jax.tree.map(lambda a: a[0], model(batch(x), training=False))",
    )


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
    "jax:jit": _compiled(_JIT),
    "jax:float64": _compiled(_JIT),
    **{f"{library}:keras_file": _saved(".keras") for library in ("tensorflow", "pytorch")},
    "tensorflow:h5_file": _saved(".h5"),
    "tensorflow:saved_model": Code(
        ("import tensorflow as tf",),
        (
            'model.export("saved", format="tf_saved_model", verbose=False)',
            'loaded = tf.saved_model.load("saved")',
        ),
        (_AS_ARRAYS.format("loaded.serve(GIVEN)"),),
    ),
    "pytorch:compile_dynamic": _called("torch.compile(model, dynamic=True)", "import torch"),
    "pytorch:compile_graph": _traced(
        "function = torch.compile(program.module(check_guards=False))"
    ),
    "pytorch:compile_dynamic_graph": _traced(
        "function = torch.compile(program.module(check_guards=False), dynamic=True)", free=True
    ),
    "pytorch:aot_inductor": _traced(
        'path = torch._inductor.aoti_compile_and_package(program, package_path="model.pt2")',
        "function = torch._inductor.aoti_load_package(path)",
    ),
    "pytorch:export": _traced("function = program.module()", free=True),
    **{f"jax:{option}": _over_items() for option in ("vmap", "vmap_of_gradient")},
    "jax:export": Code(
        ("import jax", "import jax.export"),
        (f"program = jax.export.export({_JIT})(GIVEN).serialize()",),
        (_AS_ARRAYS.format("jax.export.deserialize(program).call(GIVEN)"),),
        fixed=True,
    ),
    "numpy:float64": _called("model"),
    "openvino_keras:predict": Code(
        (), (), (f"outputs = {_CALL.format('model.predict_on_batch(GIVEN)')}",)
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
            "fixed = [keras.Input(batch_shape=(len(x) or None, *x.shape[1:]), dtype=x.dtype.name) "
            "for x in inputs]",
            "model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))",
            "content = tf.lite.TFLiteConverter.from_keras_model(model).convert()",
            'open(PATH, "wb").write(content)',
        ),
    ),
}


_SESSION_RUN = (
    "outputs = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})",
)

_SIGNATURE_RUN = (
    "given = dict(zip(sorted(runner.get_input_details()), inputs))",
    "outputs = [o for _, o in sorted(runner(**given).items())]",
)

_NO_GRAD = (
    "outputs = torch.no_grad()(module.eval())(*map(torch.from_numpy, inputs))",
    "outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]",
)

_LEVELS = ("BASIC", "EXTENDED", "LAYOUT")


def _at_level(level: str) -> Code:
    made = (
        "options = ort.SessionOptions()",
        f"options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_{level}",
        "session = ort.InferenceSession(PATH, options)",
    )
    return Code(("import onnxruntime as ort",), made, _SESSION_RUN)


def _with_kernels(name: str) -> Code:
    made = (
        f"kernels = OpResolverType.{name}",
        "interpreter = Interpreter(PATH, experimental_op_resolver_type=kernels)",
        "runner = interpreter.get_signature_runner()",
    )
    imports = ("from ai_edge_litert.interpreter import Interpreter, OpResolverType",)
    return Code(imports, made, _SIGNATURE_RUN)


def _at_precision(hint: str) -> Code:
    made = (
        f'hint = {{"INFERENCE_PRECISION_HINT": "{hint}"}}',
        'compiled = ov.Core().compile_model(PATH, "CPU", hint)',
    )
    return Code(("import openvino as ov",), made, ("outputs = list(compiled(inputs).to_tuple())",))


#: By library, and the ending of its option: they read the file ``PATH``.
_READ = {
    ("onnxruntime", ""): Code(
        ("import onnxruntime as ort",),
        (
            "options = ort.SessionOptions()",
            "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL",
            "session = ort.InferenceSession(PATH, options)",
        ),
        _SESSION_RUN,
    ),
    **{("onnxruntime", f"_{level.lower()}"): _at_level(level) for level in _LEVELS},
    ("onnxruntime", "_optimised"): Code(
        ("import onnxruntime as ort",),
        ("session = ort.InferenceSession(PATH)  # all optimisations",),
        _SESSION_RUN,
    ),
    ("openvino", ""): _at_precision("f32"),
    ("openvino", "_f16"): _at_precision("f16"),
    ("openvino", "_bf16"): _at_precision("bf16"),
    ("litert", ""): Code(
        ("from ai_edge_litert.interpreter import Interpreter",),
        ("runner = Interpreter(PATH).get_signature_runner()",),
        _SIGNATURE_RUN,
    ),
    ("litert", "_without_xnnpack"): _with_kernels("BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    ("litert", "_plain"): _with_kernels("BUILTIN_REF"),
    ("onnx2torch", ""): Code(
        ("import onnx2torch", "import torch"), ("module = onnx2torch.convert(PATH)",), _NO_GRAD
    ),
    ("onnx2pytorch", ""): Code(
        ("import onnx", "import onnx2pytorch", "import torch"),
        ("module = onnx2pytorch.ConvertModel(onnx.load(PATH))",),
        _NO_GRAD,
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
    return None if code is None else code.put({"PATH": f'"model{suffix}"'})


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
            parts.append(Code((), (), ("outputs = []",)))
        if library == "litert" and inputs > 1:  # in the file their order is another one
            return None
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    given = "inputs" if inputs > 1 else "inputs[0]"
    path = f'"model{CONVERTERS[converter].suffix}"' if converter is not None else ""
    code = Code(
        tuple(dict.fromkeys(i for part in known for i in part.imports)),
        tuple(line for part in known for line in part.made),
        known[-1].called,
        any(part.fixed for part in known),
    )
    return code.put({"GIVEN": given, "PATH": path})
