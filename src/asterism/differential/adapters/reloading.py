"""Models that are saved and loaded before they run: each format must give the same model."""

from __future__ import annotations

#: Imports and lines by the option that goes through a format of Keras.
RELOADED = {
    option: (
        ("import tempfile",),
        "folder = tempfile.TemporaryDirectory()\n"
        f'model.save(f"{{folder.name}}/model{suffix}")\n'
        f'model = keras.saving.load_model(f"{{folder.name}}/model{suffix}", compile=False)',
    )
    for option, suffix in {"keras_file": ".keras", "h5_file": ".h5"}.items()
}

#: The line that names the layers of a model that was loaded.
SAME_LAYERS = "layers = [model.get_layer(layer.name) for layer in layers]"
