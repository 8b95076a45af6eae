import pickle

from facetvec.errors import InputError, MissingExtraError


def test_an_input_error_names_file_and_line() -> None:
    assert str(InputError("wrong", path="a.txt", line=3)) == "a.txt:3: wrong"
    assert str(InputError("wrong", path="a.txt")) == "a.txt: wrong"
    assert str(InputError("wrong")) == "wrong"


def test_an_input_error_crosses_processes_whole() -> None:
    error = pickle.loads(pickle.dumps(InputError("wrong", path="a.txt", line=3)))  # noqa: S301 — as worker processes do
    assert (str(error), error.path, error.line) == ("a.txt:3: wrong", "a.txt", 3)


def test_a_missing_extra_says_the_pip_command() -> None:
    message = str(MissingExtraError("pyarrow", extra="text", purpose="reading Parquet"))
    assert message == "reading Parquet needs the package pyarrow: pip install 'facetvec[text]'"
