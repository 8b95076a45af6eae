"""`python -m facetvec` is the command `facetvec`."""

from facetvec.cli import main

if __name__ == "__main__":
    main()
