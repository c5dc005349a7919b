"""What the pages of `make reference` say above their tables."""

#: What stands above each page's tables.
INTRODUCTIONS = {
    "parameters": """\
# Parameters

Every parameter of `params.yaml`. The defaults are those of `conf/`. Set one with `-S`, as in
`dvc exp run -S seed=1`. `NAME` stands for a name of your choice, `N` for a place in a list. A word
in brackets is a choice of the section: `rnn (file)` is what `rnn=file` has.
[Plug-ins](plug-ins.md) have options of their own. *Source* is where a parameter is defined, and the
paper's value where that is not the default; the other parameters are this project's own.
""",
    "plug-ins": """\
# Plug-ins

What parameters choose by name, and the options of each. [Extending](../extending.md) shows how to
add one.
""",
    "stages": """\
# Stages

Every stage of `dvc.yaml`. `dvc repro STAGE` runs one, with what it needs. A stage runs again when
its script, its code, its parameters or its inputs have changed. [What reruns](../reruns.md) lists
which code each stage uses.
""",
    "commands": """\
# Commands

What `asterism --help` knows. [Exit codes](exit-codes.md) says how each command ends.
""",
}
