"""The phase of a failure: frames tell it, and scripts that fail at each step are run."""

import pytest

from asterism.findings.phase import (
    COMPILING,
    CONVERTING,
    PLAIN,
    RUNNING,
    is_of_compiled_code,
    phase_at,
    phase_of,
)

#: Frames, innermost first, and what was said.
FRAMES = {
    CONVERTING: (
        (["openvino/frontend.py|convert|raise", "r.py|<module>|m = ov.convert_model(f)"], ""),
        (["openvino/core.py|compile_model|super().compile_model("], "OpConversionFailure: Einsum"),
        (["torch/export/_trace.py|_export|x", "r.py|<module>|torch.export.export(m, x)"], ""),
    ),
    COMPILING: (
        (["torch/_inductor/codegen/cpp.py|codegen|x", "torch/_dynamo/convert_frame.py|f|y"], ""),
        (["openvino/core.py|compile_model|super().compile_model("], "RuntimeError: CPU plugin"),
        (["tensorflow/python/util.py|f|raise"], "Error: [[{{node x}}]] tf2xla conversion failed"),
        (["ai_edge_litert/interpreter.py|a|self._interpreter.AllocateTensors()"], ""),
    ),
    RUNNING: (
        (["/t/torchinductor_me/ab/x.py|call|k()", "torch/_dynamo/eval_frame.py|f|fn()"], ""),
        (["openvino/core.py|infer|self._infer(", "r.py|<module>|actual = compiled(x)"], ""),
        (["keras/src/utils.py|f|raise"], "Error: {{function_node __inference_f_3}} Shapes"),
    ),
    PLAIN: ((["torch/nn/modules/conv.py|forward|x", "r.py|<module>|module(x)"], ""),),
    "": (([], ""),),
}
STEPS = """import faulthandler


def compile_model(x):
    {compiling}


def compiled(x):
    {running}


def main():
    compile_model(2)
    compiled(2)


{call}
"""
FAILS, DIES = "raise ValueError('no')", "faulthandler._sigfpe()"


@pytest.mark.parametrize("phase", FRAMES)
def test_frames_tell_the_phase(phase):
    assert {phase_at(frames, said) for frames, said in FRAMES[phase]} == {phase}


@pytest.mark.parametrize(
    ("steps", "call", "phase"),
    [
        ((FAILS, "pass"), "main()", COMPILING),
        (("pass", FAILS), "main()", RUNNING),
        (("pass", DIES), "main()", RUNNING),
        (
            (FAILS, "pass"),
            "try:\n    main()\nexcept ValueError:\n    raise SystemExit(1) from None",
            COMPILING,
        ),
        (("pass", "pass"), "raise ValueError('no')", PLAIN),
        (("pass", "pass"), "main()", ""),
    ],
)
def test_a_script_is_run_to_see_at_which_step_it_fails(tmp_path, steps, call, phase):
    text = STEPS.format(compiling=steps[0], running=steps[1], call=call)
    (tmp_path / "repro.py").write_text(text, encoding="utf-8")
    assert phase_of(tmp_path) == phase


def test_a_script_that_hangs_is_ended_and_has_a_phase(tmp_path):
    text = STEPS.format(compiling="pass", running="import time; time.sleep(60)", call="main()")
    (tmp_path / "repro.py").write_text(text, encoding="utf-8")
    assert phase_of(tmp_path, hangs=True, seconds=0.5) == RUNNING
    assert phase_of(tmp_path, seconds=0.5) == ""


def test_what_a_converter_breaks_is_no_failure_of_compiled_code():
    assert is_of_compiled_code("openvino", COMPILING)
    assert is_of_compiled_code("pytorch", RUNNING)
    assert not is_of_compiled_code("openvino", CONVERTING)
    assert not is_of_compiled_code("tensorflow", PLAIN)
    assert not is_of_compiled_code("tf2onnx", COMPILING)
