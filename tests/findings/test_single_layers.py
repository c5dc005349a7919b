"""Models of one layer each."""

from asterism.findings.single_layers import single_layer_models
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.universe.spec import universe


def test_every_declared_layer_has_a_model_of_its_own():
    models = single_layer_models(0)
    assert {name.split()[0] for name in models} == set(universe())
    assert all(len(graph.layers) == 1 for graph in models.values())
    assert coverage_of(models.values()).rates()["types"] == 1


def test_the_first_models_are_one_of_each_layer_at_its_defaults():
    first = list(single_layer_models(0).values())[: len(universe())]
    for graph in first:
        node = graph.nodes[graph.layers[0]]
        defaults = universe()[node.type].defaults()
        assert all(node.config[name] == value for name, value in defaults.items())


def test_an_option_is_the_only_one_that_is_off_its_default():
    for name, graph in single_layer_models(0).items():
        layer, _, rest = name.partition(" ")
        parameter, equals, _ = rest.partition("=")
        if not equals:
            continue
        node = graph.nodes[graph.layers[0]]
        defaults = universe()[layer].defaults()
        off = {n for n, v in node.config.items() if n in defaults and v != defaults[n]}
        assert off <= {parameter}, name


def test_the_same_seed_gives_the_same_models():
    assert single_layer_models(3) == single_layer_models(3)
    assert single_layer_models(3) != single_layer_models(4)
