"""Readers of models that take more than a path, as functions of a path."""


def classifier(path):
    from asterism.models.classifiers.classifier import open_classifier
    from asterism.models.keras_models.preprocessing import PreprocessingParams

    return open_classifier(path, PreprocessingParams(scale=1.0, mean=[0.0], std=[1.0]))


def recurrent(path):
    from asterism.models.recurrent import open_rnn

    return open_rnn(path, None)
