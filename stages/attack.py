"""Attack the classifier's test inputs, and gather other inputs to add to its test set."""

from pathlib import Path

from asterism.attacks.augmenting import augment_tests
from asterism.attacks.keras_network import KerasNetwork
from asterism.attacks.methods import AttackParams
from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.data import DataParams, load
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.keras_models.layers import cut_softmax, require_images_of
from asterism.models.keras_models.reading import load_keras
from asterism.models.training.fitting import make_deterministic

ARTIFACTS = Path("artifacts/attack")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    preprocessing: PreprocessingParams
    attack: AttackParams


def run(params: Params) -> None:
    """Write each input set, and how it came out."""
    make_deterministic(params.seed, "attack")
    model = load_keras(Path("artifacts/train_classifier/model.keras"))
    data = load(params.data)
    require_images_of(model, data.test_images)
    network = KerasNetwork(cut_softmax(model), params.preprocessing)
    split, augmentations = augment_tests(
        network, data.test_images, data.test_labels, params.attack, params.seed
    )
    write_arrays(ARTIFACTS / "split.npz", base=split.base, pool=split.pool)
    for name, augmentation in augmentations.items():
        augmentation.save(ARTIFACTS / f"{name}.npz")
    write_json(ARTIFACTS / "names.json", list(augmentations))
    metrics = {name: augmentation.summary() for name, augmentation in augmentations.items()}
    write_json(Path("metrics/attack.json"), metrics)
    rows = [{"attack": name, **facts} for name, facts in metrics.items()]
    write_table(Path("plots/attack/success.csv"), rows)
