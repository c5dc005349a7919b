"""NaN/Inf mask differs | openvino | LogSoftmax(axis=-1)

The model, which stands below as a file:

    [logsoftmax] y0 = LogSoftmax <axis: int = -1> (x0)

Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import base64
import os
import sys
import tempfile

def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


import numpy as np


def run(path, inputs):
    import openvino as ov

    core = ov.Core()
    compiled = core.compile_model(
        core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    result = compiled(inputs)
    return [result[i] for i in range(len(compiled.outputs))]


MODEL = """
CAg6kgEKNgoCeDASAnkwGgpsb2dzb2Z0bWF4IgpMb2dTb2Z0bWF4KhQKBGF4aXMY////////////AaABAhIKTG9nU29mdG1
heFoYCgJ4MBISChAIARIMCgIIAgoCCAMKAggLYhgKAnkwEhIKEAgBEgwKAggCCgIIAwoCCAtqGAoCeTASEgoQCAESDAoCCA
IKAggDCgIIC0IECgAQEg==
"""
INPUTS = [np.array([np.nan, -0.9692307710647583, -0.9384615421295166, -0.9076923131942749, -0.8769230842590332, -0.8461538553237915, -0.8153846263885498, -0.7846153974533081, -0.7538461685180664, -0.7230769395828247, -0.692307710647583, -0.6615384817123413, -0.6307692527770996, -0.6000000238418579, -0.5692307949066162, -0.5384615659713745, -0.5076923370361328, -0.4769230782985687, -0.446153849363327, -0.4153846204280853, -0.38461539149284363, -0.35384616255760193, -0.32307693362236023, -0.29230770468711853, -0.26153847575187683, -0.23076923191547394, -0.20000000298023224, -0.16923077404499054, -0.13846154510974884, -0.10769230872392654, -0.07692307978868484, -0.04615384712815285, -0.015384615398943424, 0.015384615398943424, 0.04615384712815285, 0.07692307978868484, 0.10769230872392654, 0.13846154510974884, 0.16923077404499054, 0.20000000298023224, 0.23076923191547394, 0.26153847575187683, 0.29230770468711853, 0.32307693362236023, 0.35384616255760193, 0.38461539149284363, 0.4153846204280853, 0.446153849363327, 0.4769230782985687, 0.5076923370361328, 0.5384615659713745, 0.5692307949066162, 0.6000000238418579, 0.6307692527770996, 0.6615384817123413, 0.692307710647583, 0.7230769395828247, 0.7538461685180664, 0.7846153974533081, 0.8153846263885498, 0.8461538553237915, 0.8769230842590332, 0.9076923131942749, 0.9384615421295166, 0.9692307710647583, 1.0], 'float32').reshape((2, 3, 11))]
EXPECTED = [np.array([np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, -2.5564706114604987, -2.525701382525257, -2.4949321535900153, -2.4641629246547736, -2.433393695719532, -2.40262446678429, -2.371855208046726, -2.3410859791114844, -2.3103167501762427, -2.279547521241001, -2.2487782923057593, -2.5564706120578378, -2.525701383122596, -2.4949321541873544, -2.4641629103509515, -2.4333936814157098, -2.402624452480468, -2.3718552235452264, -2.341085987159404, -2.3103167582241624, -2.2795475255636304, -2.248778293834421, -2.5564706119794827, -2.5257013802502732, -2.4949321475897412, -2.4641629186544995, -2.4333936822686772, -2.4026244533334356, -2.371855224398194, -2.341085995462952, -2.3103167516265493, -2.2795475226913076, -2.248778293756066, -2.556470614157018, -2.5257013852217765, -2.4949321562865348, -2.464162927351293, -2.4333936984160514, -2.4026244396784873, -2.3718552107432456, -2.341085981808004, -2.310316752872762, -2.2795475239375205, -2.2487782950022788, -2.5564705966601013, -2.5257013677248596, -2.494932138789618, -2.4641629098543762, -2.4333936809191345, -2.402624451983893, -2.371855223048651, -2.3410859941134095, -2.3103167651781678, -2.279547536242926, -2.2487783073076844], 'float64').reshape((2, 3, 11))]  # a float64 run
TOLERANCES = [np.array([1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 1.7589934244254695e-05, 3.709425714663277e-05, 3.685950655966346e-05, 3.6624755972694146e-05, 3.6390005385724834e-05, 3.615525479875552e-05, 3.592050421178621e-05, 3.568575339744322e-05, 3.545100281047391e-05, 3.52162522235046e-05, 3.4981501636535285e-05, 3.474675104956597e-05, 3.7094257151190106e-05, 3.6859506564220794e-05, 3.662475597725148e-05, 3.639000527659533e-05, 3.615525468962602e-05, 3.592050410265671e-05, 3.5685753515687395e-05, 3.5451002871874664e-05, 3.521625228490535e-05, 3.498150166951433e-05, 3.4746751061228735e-05, 3.7094257150592304e-05, 3.685950654230671e-05, 3.662475592691569e-05, 3.6390005339946376e-05, 3.6155254696133645e-05, 3.592050410916433e-05, 3.568575352219502e-05, 3.545100293522571e-05, 3.521625223456956e-05, 3.4981501647600246e-05, 3.4746751060630934e-05, 3.7094257167205575e-05, 3.685950658023626e-05, 3.662475599326695e-05, 3.639000540629764e-05, 3.6155254819328326e-05, 3.592050400498534e-05, 3.5685753418016026e-05, 3.5451002831046714e-05, 3.52162522440774e-05, 3.498150165710809e-05, 3.474675107013878e-05, 3.70942570337147e-05, 3.685950644674539e-05, 3.6624755859776076e-05, 3.6390005272806764e-05, 3.615525468583745e-05, 3.592050409886814e-05, 3.568575351189883e-05, 3.5451002924929514e-05, 3.52162523379602e-05, 3.498150175099089e-05, 3.474675116402158e-05], 'float64').reshape((2, 3, 11))]
DTYPES = ['float32']


def difference(
    actual: np.ndarray, expected: np.ndarray, tolerance: np.ndarray, dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is: of values the largest deviation as a multiple of its
    tolerance, of a NaN/Inf mask the number of its elements that differ, else 0.
    """
    if actual.shape != expected.shape:
        return "wrong shape", 0.0
    if str(actual.dtype) != dtype:
        return "wrong dtype", 0.0
    with np.errstate(all="ignore"):
        # What is finite in float64 may be too large for the dtype: no library is to blame.
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4))
        wrong = np.isnan(actual) != np.isnan(expected)
        wrong |= np.isinf(actual) != np.isinf(expected)
        wrong |= np.isinf(expected) & ((actual > 0) != (expected > 0))
        compared = judged & np.isfinite(actual) & np.isfinite(expected)
        deviation = np.where(compared, np.abs(actual.astype("float64") - expected), 0.0)
        excess = float(np.max(deviation / tolerance, initial=0.0))
    if (wrong & judged).any():
        return "NaN/Inf mask differs", float((wrong & judged).sum())
    return ("values differ", excess) if excess > 1 else None


def main():
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "model.onnx")
    open(path, "wb").write(base64.b64decode(MODEL))
    outputs = run(path, INPUTS)
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        found = difference(actual, expected, tolerance, dtype)
        print("differs ", *(found or ["no"]))
        wrong |= found is not None
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
