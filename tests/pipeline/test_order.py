"""In which order a run's stages are begun."""

from hypothesis import given
from hypothesis import strategies as st
from small_pipeline import planned

from asterism.sweep.pipeline import longest_first


def test_the_longest_chain_begins_first():
    classifier = [planned("train"), planned("compress", "train"), planned("repair", "compress")]
    libraries = [planned("a"), planned("b", "a"), planned("c", "b"), planned("d", "c")]
    report = planned("report", "repair", "d")
    names = [stage.name for stage in longest_first([*classifier, *libraries, report])]
    assert names == ["a", "train", "b", "compress", "c", "repair", "d", "report"]


def test_a_long_stage_makes_a_long_chain():
    chain = [planned("a"), planned("b", "a"), planned("c", "b")]
    dear = [planned("make"), planned("triage", "make", seconds=90)]
    names = [stage.name for stage in longest_first([*chain, *dear])]
    assert names == ["make", "triage", "a", "b", "c"]


@given(st.lists(st.sets(st.integers(0, 19)), max_size=20))
def test_every_stage_comes_after_what_it_reads(reads):
    stages = [
        planned(str(n), *(str(k) for k in sorted(read) if k < n)) for n, read in enumerate(reads)
    ]
    ordered = longest_first(stages)
    assert sorted(s.name for s in ordered) == sorted(s.name for s in stages)
    for number, stage in enumerate(ordered):
        assert set(stage.upstream) <= {earlier.name for earlier in ordered[:number]}
