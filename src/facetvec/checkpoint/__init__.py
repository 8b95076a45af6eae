"""The model folder: written, verified, opened. Nothing in it is ever executed."""

from facetvec.checkpoint.folder import ModelFolder, write_model_folder

__all__ = ["ModelFolder", "write_model_folder"]
