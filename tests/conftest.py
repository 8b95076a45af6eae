"""Small texts written for the tests, and stores made of them."""

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from facetvec.config import CorpusConfig
from facetvec.examples.prepare import prepare
from facetvec.examples.store import Store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

settings.register_profile("facetvec", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("facetvec")

GARDEN = """\
The old gardener plants roses behind the stone house every spring.
He waters the young roses before the sun climbs over the wall.
His roses bloom red and white until the first frost comes.
Yes.
The gardener cuts the last roses for the kitchen table in autumn.

A small boat leaves the harbour before dawn to catch herring.
The fishermen pull heavy nets from the cold sea by hand.
At noon the boat returns and the herring goes to market.
The harbour smells of salt, tar and fresh herring all day.

Snow fell on the mountain pass for three days without end.
Two climbers waited in a wooden hut and melted snow for tea.
On the fourth day the climbers crossed the pass in bright sun.
"""


@pytest.fixture
def compress() -> dict[str, Callable[[bytes], bytes]]:
    """What packs bytes, by the ending of the file."""
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A file with three documents of four, four and three sentences worth learning from."""
    path = tmp_path / "garden.txt"
    path.write_text(GARDEN, encoding="utf-8")
    return path


@pytest.fixture
def garden_store(garden: Path, tmp_path: Path) -> Store:
    """The store of those documents, every word kept."""
    return prepare([garden], out=tmp_path / "garden-store", config=CorpusConfig(min_count=1))
