"""Asks for a pair, and reads the overrides as Hydra does."""

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from asterism.asking.question import settle
from asterism.asking.request import VetRequest
from asterism.config import compose
from places import ROOT

CONF = ROOT / "conf"
_GRAMMAR = OverridesParser.create()


def asked(**request):
    """The overrides as Hydra reads them, by key, and what is said."""
    settled = settle(VetRequest(**request), CONF)
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
    """What the parameters of vetting come to."""
    settled = settle(VetRequest(**request), CONF)
    return yaml.safe_load(compose(CONF, settled.overrides))["vet"]
