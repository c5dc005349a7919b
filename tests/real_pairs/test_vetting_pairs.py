"""What is done with real pairs; making them ready and vetting them is replaced."""

import json
from pathlib import Path

import pytest
from real_pairs.entry import pair_names, read_pair
from real_pairs.page import PAGE
from real_pairs.preparing import PreparedPair
from real_pairs.results import read_results

from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.messages.errors import UserError
from asterism.vetting.params import VetParams
from places import ROOT
from real_pairs import app
from set_options import section

VETTED = [name for name in pair_names() if read_pair(name).not_vetted is None]
NAMES = ["magika", "minilm"]
SHARE = {"count": 1, "total": 4, "share": 0.25, "low": 0.1, "high": 0.5}
PARAMS = section("vet")
STAGES = ["vet_measure", "vet_search", "vet_repair", "vet_page"]


def certificate(params, word="ship"):
    """What the parts of a certificate that are read say of these parameters."""
    agreement = {"differ": SHARE, "failed": 2, "accuracy": [SHARE, SHARE], "distance": {"p90": 0.5}}
    return {
        "verdict": {"word": word, "reasons": ["agreement on the given inputs"]},
        "sha256": params.hashes(),
        "versions": {"numpy": "2"},
        "parameters": json.dumps(params.model_dump(mode="json")),
        "measured": {
            "agreement": agreement | {"unread": 1},
            "flips": [{"strength": "slight", "share": SHARE}],
        },
        "searches": {"paper": {"seeds": 9, "deviates_already": 1, "triggered": 2, "rate": 0.25,
                               "guided": True, "path": "found.npz"}},
        "repair": {"quantised_nodes": 3, "nodes_in_float": 1, "nodes_with_finer_scales": 0,
                   "bits": 8, "differ_before": SHARE, "agreement": {"differ": SHARE, "failed": 0},
                   "path": "repaired.onnx"},
    }  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder as the current one, with the page of pairs."""
    (tmp_path / PAGE.parent).mkdir()
    (tmp_path / PAGE).write_text((ROOT / PAGE).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Machine:
    """Takes the place of making pairs ready and of vetting them.

    Attributes:
        unmade: pairs that cannot be made ready.
        failing: pairs whose vetting fails.
        prepared: the pairs that were made ready.
        requests: what sweeps were asked for, with whether only the plan was.
    """

    def __init__(self, folder):
        self._folder = folder
        self.unmade, self.failing, self.prepared, self.requests = set(), set(), [], []

    def params(self, name):
        """The parameters of a pair, whose files have different lengths."""
        parts = ("original", "compressed", "inputs")
        files = {part: self._folder / f"{name}.{part}" for part in parts}
        for length, file in enumerate(files.values(), 10):
            file.write_text("x" * length)
        values = PARAMS | {part: str(file) for part, file in files.items()}
        return VetParams.model_validate(values)

    def prepare(self, name, pair, conf):
        """See :func:`real_pairs.preparing.prepare`."""
        assert pair == read_pair(name) and conf == Path("conf")
        self.prepared.append(name)
        if name in self.unmade:
            raise UserError("a wheel is not there")
        return PreparedPair((f"vet.of={name}",), (f"guess about {name}",), self.params(name))

    def sweep(self, request, dry, say):
        """See :func:`asterism.sweep.app.sweep_command`."""
        self.requests.append((request, dry))
        name = request.name.removeprefix("pair-")
        say("one point")
        if name in self.failing:
            return 3
        if not dry:
            self.vet(name)
        return 0

    def vet(self, name, word="ship"):
        """Leave what the sweep of a pair leaves."""
        point = app._point(name)
        (point / "vet").mkdir(parents=True)
        text = json.dumps(certificate(self.params(name), word))
        (point / "vet/certificate.json").write_text(text)
        (point / "record.json").write_text(json.dumps({"ran": STAGES, "seconds": 12.34}))


@pytest.fixture
def machine(tmp_path, project, monkeypatch):
    """The replaced machine."""
    found = Machine(tmp_path)
    monkeypatch.setattr(app, "prepare", found.prepare)
    monkeypatch.setattr(app, "sweep_command", found.sweep)
    return found


def vet(names, dry=False, write=False):
    """The exit status of vetting pairs, and the lines that were said."""
    lines = []
    return app.vet_pairs(names, dry, write, lines.append), lines


def test_pairs_are_vetted_one_after_the_other(machine):
    status, lines = vet(NAMES)
    assert status == 0
    for name, (request, dry) in zip(NAMES, machine.requests, strict=True):
        assert (list(request.overrides), dry) == ([f"vet.of={name}"], False)
        assert list(request.targets) == ["vet_page"]
        assert request.name == f"pair-{name}"
        assert (request.jobs, request.shards) == (1, 1)
    assert lines == [
        line
        for name in NAMES
        for line in (f"{name}: guess about {name}", f"{name}: one point", f"{name}: ship")
    ]
    assert not Path("results").exists()


def test_without_a_name_all_pairs_that_can_be_vetted_are(machine):
    machine.unmade = set(VETTED) - set(NAMES)
    status, lines = vet([])
    assert machine.prepared == VETTED
    assert status == 1
    assert lines[-1] == f"failed: {', '.join(name for name in VETTED if name not in NAMES)}"


def test_what_fails_stops_no_other_pair(machine):
    machine.unmade, machine.failing = {"magika"}, {"minilm"}
    status, lines = vet(["magika", "minilm", "spliceai"])
    assert status == 1
    assert "magika: a wheel is not there" in lines
    assert "minilm: ship" not in lines
    assert lines[-2:] == ["spliceai: ship", "failed: magika, minilm"]


def test_a_pair_is_not_vetted_again_until_its_files_or_parameters_change(machine):
    machine.vet("magika", "do not ship")
    status, lines = vet(["magika"])
    page = "sweeps/pair-magika/points/0000/vet/index.html"
    assert (status, lines) == (0, [f"magika: vetted already, {page}", "magika: do not ship"])
    params = machine.params("magika")
    point = app._point("magika")
    assert app._is_current(point, params)
    assert not app._is_current(point, params.model_copy(update={"confidence": 0.9}))
    Path(params.inputs).write_text("other inputs")
    assert not app._is_current(point, params)
    assert not app._is_current(app._point("minilm"), params)
    assert machine.requests == []


def test_results_are_written_and_the_page_with_them(machine):
    machine.failing = {"minilm"}
    status, lines = vet(NAMES, write=True)
    assert status == 1
    assert lines[-2:] == ["docs/pairs.md is written", "failed: minilm"]
    assert list(read_results()) == ["magika"]
    text = PAGE.read_text(encoding="utf-8")
    row = (
        "| [magika](#magika) | ship | 75.0% (50.0% to 90.0%) | 25.0% | 2 of 8 | no repair | "
        "1 of 3 | 0.00 → 0.00 | 12 |"
    )
    assert row in text
    assert "### minilm" not in text
    assert f"* **{read_pair('minilm').title}** (minilm): no result yet." in text
    assert text.startswith("# Real pairs\n") and text.count("## Results\n") == 1
    assert vet(["magika"], write=True)[0] == 0
    assert PAGE.read_text(encoding="utf-8") == text


def test_an_interrupt_ends_the_pairs_that_would_follow(machine, monkeypatch):
    monkeypatch.setattr(app, "sweep_command", lambda request, dry, say: INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        vet(NAMES)
    assert machine.prepared == NAMES[:1]
