"""``python -m asterism.sweep -m …`` is ``asterism sweep …``, spelled as Hydra's own apps are."""

import sys

from asterism.cli import main

if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument not in ("-m", "--multirun")]
    sys.argv = ["asterism", "sweep", *given]
    main()
