"""``python findings COMMAND`` keeps this collection; ``--help`` lists the commands."""

from collection import main

if __name__ == "__main__":
    main()
