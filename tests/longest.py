"""Which files of tests are begun first; one that is gone is no harm."""

#: The files that take longest, by processor time. Workers take files one after the other: what is
#: begun last must be short.
LONGEST = (
    "vetting/test_torchao.py",
    "models/test_classifier.py",
    "vetting/test_repaired_modules.py",
    "libraries/test_worker_environment.py",
    "deepimportance/test_judged_torch.py",
    "dflare/test_image_pairs.py",
    "compression/test_methods.py",
    "vetting/test_files_people_have.py",
    "vetting/test_generated_pairs.py",
    "models/test_strange_programs.py",
    "models/test_trainings.py",
    "readers/test_readers.py",
    "vetting/test_vet_in_python.py",
    "pipeline/test_config.py",
    "vetting/test_repaired_pairs.py",
    "vetting/test_opened_pairs.py",
    "pipeline/test_interrupted_commands.py",
    "models/test_own_classifier.py",
    "models/test_signatures.py",
    "dflare/test_repair.py",
    "findings/test_calls.py",
    "compression/test_compressors.py",
    "attacks/test_attacks.py",
)
