"""Where a page leads to outside itself."""

#: The page of all sweeps, as a page in a folder of the project links to it. Which sweeps there are
#: is no result of a stage, so it stands beside the report and not in it.
SWEEPS = "../sweeps/index.html"
