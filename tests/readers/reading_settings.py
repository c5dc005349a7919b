"""Readers that take more than a path, as functions of a path."""


def parameters(path):
    from asterism.core.parameters.params import ParameterSection, read_params

    class Params(ParameterSection):
        seed: list[int]

    return read_params(Params, path)


def machine_file(path):
    from asterism.core.settings.machine import _settings

    return _settings(path)


def known_issues(path):
    from asterism.differential.report.known_issues import read_known_issues

    return read_known_issues(str(path))


def driving_image(path):
    """The picture as the only one of a folder's table, twice."""
    from asterism.data.driving import DrivingParams, load_driving

    (path.parent / "log.csv").write_text(f"image,angle\n{path.name},0\n{path.name},1\n")
    params = DrivingParams(
        source="folder",
        path=str(path.parent),
        table="log.csv",
        image_column="image",
        angle_column="angle",
        height=66,
        width=66,
        test_share=0.5,
        layer=None,
        angles={"degrees": 1.0, "tolerance_degrees": 1.0},
    )
    return load_driving(params, 0)


def _given(path, kind, **shaping):
    from asterism.data.given.kind import Shaping
    from asterism.data.given.reading import read_inputs

    labels = path.with_suffix(".labels")
    read_inputs(path, kind, Shaping(**shaping), labels if labels.exists() else None)


def given_array(path):
    _given(path, "tensors")


def given_labels(path):
    _given(path, "tensors")


def given_bytes(path):
    _given(path, "bytes")


def given_sound(path):
    _given(path, "sound", rate=16_000)
