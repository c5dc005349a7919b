"""What the pages of `make reference` say above their tables."""

#: What stands above each page's tables.
INTRODUCTIONS = {
    "parameters": """\
# Parameters

This page lists every parameter of `params.yaml`. The defaults are those of `conf/`. To set a
parameter, use `-S`, as in `dvc exp run -S seed=1`. `NAME` stands for a name of your choice, and `N`
for a position in a list. A word in brackets is a choice of the section: `rnn (file)` lists the
parameters of `rnn=file`. [Plug-ins](plug-ins.md) have options of their own. *Source* is the place
in a paper where a parameter is defined, with the paper's value if it is not the default. Parameters
without a source are this project's own.
""",
    "plug-ins": """\
# Plug-ins

This page lists everything that parameters choose by name, with the options of each plug-in.
[Extending](../extending.md) shows how to add one.
""",
    "stages": """\
# Stages

This page lists every stage of `dvc.yaml`. `dvc repro STAGE` runs one, together with the stages that
it needs. A stage runs again when its script, its code, its parameters or its inputs have changed.
[What reruns](../reruns.md) lists which code each stage uses.
""",
    "commands": """\
# Commands

This page has the contents of `asterism --help`. [Exit codes](exit-codes.md) explains how each
command ends.
""",
}
