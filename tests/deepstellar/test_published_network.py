"""The known answer: the published LSTM on MNIST, profiled and abstracted."""

import numpy as np
import pytest

from asterism.data import DataParams, load
from asterism.deepstellar.criteria import measure_criteria
from asterism.deepstellar.model.profile import Profile, profile_states
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import AbstractionParams
from asterism.models.recurrent import open_rnn
from places import SHARED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    if not (SHARED / "models").is_dir() or not (SHARED / "data").is_dir():
        pytest.skip("the published model and MNIST are not on this machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_DATA_ROOT", str(SHARED / "data"))
        data = load(DataParams(name="mnist", path="conf/no_file", train=None, test=None))
    network = open_rnn(SHARED / "models" / "mnist-lstm.h5", "lstm_1")
    folder = tmp_path_factory.mktemp("profile")
    assert profile_states(network, data.train_images, data.train_labels, folder) == 59_543
    return network, data, Profile.load(folder)


@pytest.mark.parametrize(
    ("k", "m", "states", "transitions"), [(3, 10, 588, 7_470), (5, 20, 136_200, 660_950)]
)
def test_states_and_transitions(setting, k, m, states, transitions):
    network, data, found = setting
    params = AbstractionParams(k=k, m=m, bits=8, n_step=1)
    model = TraceModel.fit(found.states, found.labels, 10, params)
    assert len(model.dtmc.codes) == pytest.approx(states, rel=0.005)
    assert model.dtmc.counts.nnz == pytest.approx(transitions, rel=0.005)
    if k == 3:
        probabilities, hidden = network.run(data.test_images)
        assert (probabilities.argmax(axis=1) == data.test_labels).mean() == pytest.approx(0.9825)
        values = measure_criteria(model, model.abstraction.encode(np.asarray(hidden)))
        assert values["basic_state"] == pytest.approx(0.886, abs=0.005)
        assert values["basic_transition"] == pytest.approx(0.683, abs=0.005)
