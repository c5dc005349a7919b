"""Models of one operator: valid, with names of their own, the same every time."""

import onnx
import pytest

from asterism.differential.subjects.operators import operator_subjects, read_operators

SUBJECTS = list(operator_subjects())


def test_names_differ():
    names = [subject.name for subject in SUBJECTS]
    assert len(set(names)) == len(names) > 350


def test_they_are_the_same_every_time():
    again = {subject.name: subject.content for subject in operator_subjects()}
    assert all(again[subject.name] == subject.content for subject in SUBJECTS)


@pytest.mark.parametrize("name", sorted({operator.name for operator in read_operators()}))
def test_they_are_valid_and_say_what_they_put_out(name):
    chosen = [s for s in SUBJECTS if s.name.split()[0] == name]
    assert chosen
    for subject in chosen:
        onnx.checker.check_model(subject.model, full_check=True)
        assert [node.op_type for node in subject.model.graph.node] == [name]
        assert all(o.type.tensor_type.elem_type for o in subject.model.graph.output)
