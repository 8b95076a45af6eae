"""Word spaces: read, written, inspected, checked."""

from facetvec.vectors.check import WordSimilarity, check_vectors
from facetvec.vectors.collector import FileFormat, Reading
from facetvec.vectors.common import remove_common
from facetvec.vectors.reader import read_vectors
from facetvec.vectors.space import Alignment, WordSpace
from facetvec.vectors.writer import write_vectors

__all__ = [
    "Alignment",
    "FileFormat",
    "Reading",
    "WordSimilarity",
    "WordSpace",
    "check_vectors",
    "read_vectors",
    "remove_common",
    "write_vectors",
]
