"""facetvec."""
