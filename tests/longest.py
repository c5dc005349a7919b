"""Which files of tests are begun first."""

#: The files that take longest, by processor time. Workers take files one after the other: what is
#: begun last must be short.
LONGEST = (
    "pipeline/test_stateful_lane.py",
    "pipeline/test_config.py",
    "pipeline/test_sweeps.py",
    "libraries/test_injected_bugs.py",
    "libraries/test_worker_environment.py",
    "pipeline/test_terminated.py",
    "pipeline/test_extending.py",
    "reader_fuzzing/test_readers.py",
    "pipeline/test_sharing.py",
    "attacks/test_attacks.py",
    "memo/test_generation.py",
    "models/test_classifier.py",
    "models/test_recurrent_inference.py",
    "pipeline/test_shards.py",
    "compression/test_compressors.py",
    "pipeline/test_points.py",
    "deepstellar/fuzzing/test_killing.py",
    "libraries/test_gradients.py",
    "memo/test_universe.py",
    "memo/test_reading_and_reduction.py",
    "models/test_keras_files.py",
    "readers/test_crafted_arrays.py",
    "pipeline/test_unwritable_folders.py",
)
