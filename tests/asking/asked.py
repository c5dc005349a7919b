"""Asks for a pair, and reads the overrides as Hydra does."""

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.dvc_hydra.composition import compose_group
from places import ROOT

CONF = ROOT / "conf"
_GRAMMAR = OverridesParser.create()


def asked(**request):
    """The overrides as Hydra reads them, by key, and what is said."""
    settled = resolve_question(VetRequest(**request), CONF)
    read = {}
    for text in settled.overrides:
        override = _GRAMMAR.parse_override(text)
        if override.is_delete():
            continue
        whole = OmegaConf.create({"value": override.value()})
        key = override.key_or_group
        read[key] = OmegaConf.to_container(whole, resolve=True)["value"]
    return read, settled.said


def composed(**request):
    """What the parameters of vetting come to, composed without those of other lanes."""
    settled = resolve_question(VetRequest(**request), CONF)
    own = [one for one in settled.overrides if one.lstrip("+~").startswith(("vet.", "vet="))]
    return compose_group(CONF, "vet", own)
