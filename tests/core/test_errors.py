"""Errors: a base of ours and a built-in one, data as attributes, and what to do next in the message."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from memreader import errors
from memreader.errors import (
    DimensionMismatchError,
    DocumentError,
    EmbedderMismatchError,
    InputError,
    ItemExistsError,
    ItemNotFoundError,
    LateInteractionOffError,
    LooksLikePathError,
    MemReaderError,
    MissingExtraError,
    ModelRequiredError,
    ReindexInterruptedError,
    SourceExistsError,
    StoreBusyError,
    StoreClosedError,
    StoreCorruptError,
    StoreVersionError,
    TokenizerNotFoundError,
    require,
)

DOCUMENT_ERRORS = sorted(
    (kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, DocumentError)),
    key=lambda kind: kind.__name__,
)
EXAMPLES: list[tuple[MemReaderError, type[Exception], dict[str, object], str]] = [
    (InputError("a number", locator="[0][3]"), ValueError, {"locator": "[0][3]"}, "input[0][3]"),
    (LooksLikePathError(suffix=".pdf", locator="[1]"), ValueError, {"suffix": ".pdf", "locator": "[1]"}, "Path(...)"),
    (ModelRequiredError(mode="fine"), RuntimeError, {"mode": "fine"}, "mode='fast'"),
    (
        MissingExtraError(package="markitdown", extra="documents"),
        ImportError,
        {"package": "markitdown", "extra": "documents"},
        "pip install 'llm-memreader[documents]'",
    ),
    (DimensionMismatchError(expected=384, got=768), ValueError, {"expected": 384, "got": 768}, "768"),
    (EmbedderMismatchError(stored="a", given="b"), ValueError, {"stored": "a", "given": "b"}, "reindex=True"),
    (
        TokenizerNotFoundError(encoding="gpt2", looked_in=["here"]),
        LookupError,
        {"encoding": "gpt2", "looked_in": ["here"]},
        "allow_download=True",
    ),
    (StoreBusyError(path="m", timeout_s=30), TimeoutError, {"path": "m", "timeout_s": 30}, "Try again"),
    (StoreVersionError(path="m", found=2, known=1), ValueError, {"found": 2, "known": 1}, "Install"),
    (StoreCorruptError(path="m", detail="d"), ValueError, {"path": "m", "detail": "d"}, "another folder"),
    (StoreClosedError(), RuntimeError, {}, "Memory.open"),
    (ItemExistsError(item_id="a"), ValueError, {"item_id": "a"}, "on_conflict='skip'"),
    (ItemNotFoundError(item_id="a"), LookupError, {"item_id": "a"}, "get_all()"),
    (
        SourceExistsError(kind="message", place="s[0]"),
        ValueError,
        {"kind": "message", "place": "s[0]"},
        "on_conflict='replace'",
    ),
    (ReindexInterruptedError(), RuntimeError, {}, "start again"),
    (LateInteractionOffError(), RuntimeError, {}, "late_interaction=True"),
]


@pytest.mark.parametrize(("error", "built_in", "data", "advice"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_has_a_built_in_base_its_data_and_advice(
    error: MemReaderError, built_in: type[Exception], data: dict[str, object], advice: str
) -> None:
    assert isinstance(error, MemReaderError)
    assert isinstance(error, built_in)
    assert {name: getattr(error, name) for name in data} == data
    assert advice in str(error)


@pytest.mark.parametrize("kind", DOCUMENT_ERRORS)
def test_a_document_error_names_the_document_its_problem_and_a_remedy(kind: type[DocumentError]) -> None:
    error = kind(name="report.pdf", detail="page 3")
    assert isinstance(error, ValueError)
    assert (error.name, error.detail) == ("report.pdf", "page 3")
    assert str(error) == f"'report.pdf' {kind.problem}: page 3. {kind.remedy}"


def test_no_two_document_errors_say_the_same() -> None:
    assert len({kind.problem for kind in DOCUMENT_ERRORS}) == len(DOCUMENT_ERRORS) >= 9


def test_every_error_of_ours_has_the_common_base() -> None:
    ours = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BaseException)]
    assert all(issubclass(kind, MemReaderError) for kind in ours)


def test_an_installed_module_is_returned() -> None:
    assert require("json", package="json", extra="none").loads("1") == 1


def test_a_missing_module_names_the_pip_command_and_keeps_the_cause() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'llm-memreader\[cli\]'") as caught:
        require("no_such_module_anywhere", package="no-such-module", extra="cli")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize("error", [one for one, *_ in EXAMPLES], ids=lambda value: type(value).__name__)
def test_an_error_crosses_a_process_border(error: MemReaderError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
