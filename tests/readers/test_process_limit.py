"""A model that takes memory only when it runs ends with an error, and takes nothing along."""

import numpy as np
import onnx
import pytest

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.classifier import IsolatedClassifier
from readers import onnx_models
from readers.crafted_networks import before
from readers.of_models import UNIT

_COUNTING = """
  sum = ReduceSum <keepdims = 0> (images)
  sign = Sign (sum)
  any = Abs (sign)
  real = Mul (any, top)
  end = Cast <to = 7> (real)
  many = Range (nil, end, one)
  values = Cast <to = 1> (many)
  most = ReduceSum <keepdims = 0> (values)
  last = Add (images, most)
"""


def counting(path, top):
    """A model that counts to a number which nobody knows before it runs."""
    model = onnx_models.plain()
    before(_COUNTING, top=np.float32(top), nil=np.int64(0), one=np.int64(1))(model)
    onnx.save(model, path)


@pytest.mark.slow
def test_a_model_that_grows_when_it_runs_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_PROCESS_MB", "1500")
    counting(tmp_path / "small.onnx", 10)
    with IsolatedClassifier(tmp_path / "small.onnx", UNIT) as model:
        assert model.classes == 4
    counting(tmp_path / "large.onnx", 10**9)
    with pytest.raises(UserError, match=r"large\.onnx"):
        IsolatedClassifier(tmp_path / "large.onnx", UNIT)
