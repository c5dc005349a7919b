"""Values come back from Hydra's grammar as they were written into it."""

from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from asterism.dvc_hydra.overrides import written

GRAMMAR = OverridesParser.create()
TEXTS = st.text(st.sampled_from("\\'${} \"a=,[:é"), max_size=8)
PARTS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-1e9, 1e9) | TEXTS
VALUES = st.recursive(
    PARTS, lambda v: st.lists(v) | st.dictionaries(st.sampled_from("abc"), v), max_leaves=8
)


@given(VALUES)
@example("a\\b'\\\\'${c}\\${d}\\")
@example({"a": [1, {"b": "a\\\\${b}\\c="}, None], "b": {"c": True, "a": 1e-7}})
def test_written_values_are_read_as_they_are(value):
    override = GRAMMAR.parse_override(f"key={written(value)}")
    whole = OmegaConf.create({"value": override.value()})
    assert OmegaConf.to_container(whole, resolve=True)["value"] == value
