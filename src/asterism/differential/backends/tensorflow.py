"""TensorFlow: eager, as a graph, through XLA, from saved files; float64 as a reference."""

from __future__ import annotations

from asterism.differential.adapters import questions
from asterism.differential.adapters.code import RELOADED, SAME_LAYERS, BackendCode, fill_words
from asterism.differential.adapters.library import LIBRARIES, Library

_IMPORT = ("import tensorflow as tf",)
_CALL = "outputs = keras.tree.flatten({}(GIVEN, training=False))"

#: Keras' layers need no rewriting of their Python code, which would put its lines into messages.
_CODES = {
    "eager": BackendCode((), "", _CALL.format("model")),
    "graph": BackendCode(
        _IMPORT, "function = tf.function(model, autograph=False)", _CALL.format("function")
    ),
    "xla": BackendCode(
        _IMPORT,
        "function = tf.function(model, autograph=False, jit_compile=True)",
        _CALL.format("function"),
    ),
    "saved_model": BackendCode(
        ("import tempfile", *_IMPORT),
        "folder = tempfile.TemporaryDirectory()\n"
        'model.export(folder.name, format="tf_saved_model", verbose=False)\n'
        "loaded = tf.saved_model.load(folder.name)",
        "outputs = keras.tree.flatten(loaded.serve(GIVEN))",
    ),
    **{name: BackendCode(*lines, _CALL.format("model")) for name, lines in RELOADED.items()},
}
_CODES["float64"] = _CODES["eager"]

#: How a step of training makes the outputs and what layers add to the loss: where it is traced,
#: the latter belongs to the trace.
_STEPS = {
    "graph": "tf.function(step, autograph=False)",
    "xla": "tf.function(step, autograph=False, jit_compile=True)",
}

_BEGIN = f"""import tensorflow as tf
{questions.COSINES}
inputs = [tf.constant(x) for x in inputs]
floating = [x for x in inputs if x.dtype.is_floating]
weighted = lambda ys: tf.add_n(
    [tf.reduce_sum(tf.cast(y, "float64") * cosines(y)) for y in keras.tree.flatten(ys)])"""

_ANSWERS = {
    questions.GRADIENT: """with tf.GradientTape() as tape:
    tape.watch(floating)
    total = weighted(FUNCTION(GIVEN, training=False))
outputs = tape.gradient(total, floating, unconnected_gradients="zero")""",
    questions.HESSIAN: """with tf.GradientTape() as outer:
    outer.watch(floating)
    with tf.GradientTape() as tape:
        tape.watch(floating)
        total = weighted(FUNCTION(GIVEN, training=False))
    along = weighted(tape.gradient(total, floating, unconnected_gradients="zero"))
outputs = outer.gradient(along, floating, unconnected_gradients="zero")""",
    questions.WEIGHT_GRADIENT: f"""{questions.VARIABLES}
with tf.GradientTape() as tape:
    total = weighted(FUNCTION(GIVEN, training=False))
found = tape.gradient(total, [v.value for v in variables], unconnected_gradients="zero")
found = [tf.convert_to_tensor(g) for g in found]
{questions.BY_LAYERS}""",
    **dict.fromkeys(
        questions.TRAINING,
        f"""{questions.LOSS}
{questions.VARIABLES}
step = lambda x: (model(x, training=True), model.losses)
step = STEP
with tf.GradientTape() as tape:
    loss = loss_of(*step(GIVEN))
gradients = tape.gradient(loss, [v.value for v in variables], unconnected_gradients="zero")
if variables:
    OPTIMIZER.apply(gradients, variables)
{questions.TRAINED}""",
    ),
}


@LIBRARIES.register("tensorflow")
class TensorFlow(Library):
    """Keras' TensorFlow backend."""

    name = "tensorflow"
    packages = ("tensorflow", "keras")
    keras_backend = "tensorflow"
    forks = True
    codes = _CODES
    differentiates = True
    unsupported = (
        r"NHWC",
        r"Current (CPU|libxsmm)",
        r"No registered '\w+' OpKernel",
        r"not in (the )?list of allowed values",
        r"Detected unsupported operations when trying to compile graph",
    )

    def start(self) -> None:
        """Use one thread, so that sums are always added up in the same order."""
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)

    def question(self, option: str, question: str) -> str:
        """See :class:`Library`; by gradient tapes."""
        if option == "saved_model":
            raise NotImplementedError(f"{question} is not supported of an exported model")
        again = f"{SAME_LAYERS}\n" if option in RELOADED else ""
        return fill_words(
            f"{again}{_BEGIN}\n{_ANSWERS[question]}",
            FUNCTION="function" if option in _STEPS else "model",
            STEP=_STEPS.get(option, "step"),
            OPTIMIZER=questions.OPTIMIZERS.get(question, ""),
        )
