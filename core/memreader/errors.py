"""Every error of memreader: a base of ours and a built-in one, data as attributes, and what to do next."""

from __future__ import annotations

import difflib
import errno as errno_codes
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class MemReaderError(Exception):
    """Base of every error that memreader raises on purpose. Pickles: one raised in a worker process must come back."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, dict(vars(self)))


class InputError(MemReaderError, ValueError):
    """Some input can't be read; `locator` names the position in what was given."""

    def __init__(self, message: str, *, locator: str | None = None) -> None:
        self.locator = locator
        super().__init__(f"{message} (at input{locator})" if locator else message)


class FilterError(InputError):
    """A filter can't be understood; `locator` names the position in it, such as `['$or'][1]['tags']`.

    `given` is the word that isn't one of `allowed`, and `near` the one of them most like it; None where there is none.
    """

    def __init__(self, problem: str, *, locator: str = "", given: object = None, allowed: Sequence[str] = ()) -> None:
        self.given = given if isinstance(given, str) else None
        self.allowed = tuple(allowed)
        spelled = {word.lower(): word for word in self.allowed}
        # Cut, since likeness is found in quadratic time.
        near = difflib.get_close_matches(self.given[:60].lower(), spelled, 1) if self.given else []
        self.near = spelled[near[0]] if near else None
        choice = f" Allowed here: {', '.join(self.allowed)}." if allowed else ""
        hint = f" Did you mean {self.near!r}?" if self.near else ""
        super().__init__(f"filter{locator}: {problem}.{choice}{hint}")
        self.locator = locator


class PromptError(InputError):
    """A prompt can't be used; says which task and language, which placeholder, and which are `allowed`."""

    def __init__(
        self,
        problem: str,
        *,
        task: str,
        language: str | None = None,
        placeholder: str | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        self.task = task
        self.language = language
        self.placeholder = placeholder
        self.allowed = tuple(allowed)
        name = f"{task!r} ({language})" if language else repr(task)
        choice = f" Allowed here: {', '.join(self.allowed)}." if allowed else ""
        super().__init__(f"prompt {name}: {problem}.{choice}")


class LooksLikePathError(InputError):
    """A string given as a document looks like a file name; a string is never opened."""

    def __init__(self, *, suffix: str, locator: str | None = None) -> None:
        self.suffix = suffix
        super().__init__(
            f"a one-line string ending in '{suffix}' was given as a document, but a string is text and never opened. "
            "Pass pathlib.Path(...) to read a file, files_root= to allow names below a folder, "
            "or as_text=True if these words are the document.",
            locator=locator,
        )


class ModelRequiredError(MemReaderError, RuntimeError):
    """Fine reading was asked for without a language model."""

    def __init__(self, *, mode: str) -> None:
        self.mode = mode
        super().__init__(
            f"mode={mode!r} needs a language model and none is set. Pass llm=, for example "
            "OpenAIChatModel('name', base_url=...), or use mode='fast' to read without one."
        )


class BudgetExceededError(MemReaderError, RuntimeError):
    """The calls or tokens that one call may take were used up; what was left unread is raw and can be refined later."""

    def __init__(self, *, limit: str, allowed: int) -> None:
        self.limit = limit
        self.allowed = allowed
        super().__init__(
            f"{limit}={allowed} is used up; what is left stays as it was read without a model. Refine it later."
        )


class MissingExtraError(MemReaderError, ImportError):
    """An optional package is not installed; the message holds the pip command."""

    def __init__(self, *, package: str, extra: str | None = None) -> None:
        self.package = package
        self.extra = extra
        wanted = f"'llm-memreader[{extra}]'" if extra else package
        super().__init__(f"{package} is not installed. Run: pip install {wanted}")


class DimensionMismatchError(MemReaderError, ValueError):
    """Vectors of one length were given where another is expected."""

    def __init__(self, *, expected: int, got: int) -> None:
        self.expected = expected
        self.got = got
        super().__init__(
            f"expected {expected}-dimensional vectors, got {got}. "
            "Use the embedder the store was built with, or open a new store."
        )


class EmbedderMismatchError(MemReaderError, ValueError):
    """A store was opened with another embedder or tokenizer than it was built with."""

    def __init__(self, *, stored: str, given: str) -> None:
        self.stored = stored
        self.given = given
        super().__init__(
            f"this store was built with {stored}, but was opened with {given}. "
            "Open it with the embedder it was built with, or go over to the other one: "
            "Memory.open(folder, embedder=..., reindex=True), or admin.reindex(embedder)."
        )


class InvalidVectorsError(MemReaderError, ValueError):
    """An embedder returned something that isn't one finite vector per text."""


class InvalidScoresError(MemReaderError, ValueError):
    """A reranker returned something else than one finite score per text; `problem` says what."""

    def __init__(self, *, reranker: str, problem: str) -> None:
        self.reranker = reranker
        self.problem = problem
        super().__init__(
            f"the reranker {reranker!r} must return one finite number per text, in order, but {problem}. "
            "Test it with memreader.testing.RerankerContract."
        )


class TokenizerNotFoundError(MemReaderError, LookupError):
    """No ranks for this encoding are on this machine."""

    def __init__(self, *, encoding: str, looked_in: list[str]) -> None:
        self.encoding = encoding
        self.looked_in = looked_in
        places = ", ".join(looked_in) or "nowhere"
        super().__init__(
            f"no ranks of the encoding {encoding!r} found (looked in: {places}). Use the shipped 'o200k_base', pass "
            "path=, set TIKTOKEN_CACHE_DIR, or allow_download=True to fetch them once."
        )


class DocumentError(MemReaderError, ValueError):
    """A document can't be read; `name` says which."""

    problem = "can't be read"
    remedy = "Check the file, or leave it out."

    def __init__(self, *, name: str, detail: str = "") -> None:
        self.name = name
        self.detail = detail
        super().__init__(f"{name!r} {self.problem}{': ' + detail if detail else ''}. {self.remedy}")


class EmptyDocumentError(DocumentError):
    """The document holds no text (blank, or only scanned images)."""

    problem = "holds no text"
    remedy = "If it is a scan, run OCR on it first; an empty file can be left out."


class EncryptedDocumentError(DocumentError):
    """The document asks for a password."""

    problem = "is encrypted"
    remedy = "Save a copy without a password and read that."


class DamagedDocumentError(DocumentError):
    """The document's bytes are not what its format says."""

    problem = "is damaged"
    remedy = "Open and save it again in its own program, or get a fresh copy."


class UnsupportedDocumentError(DocumentError):
    """No reader for this kind of file."""

    problem = "is of a kind that can't be read"
    remedy = "Supported are text, markdown, html, csv, json and, with [documents], pdf, docx, pptx, xlsx, msg and epub."


class DocumentTooLargeError(DocumentError):
    """The document, or what it unpacks to, is over a size limit."""

    problem = "is too large"
    remedy = "Split it, or raise the limit."


class DocumentTimeoutError(DocumentError):
    """Reading the document took longer than allowed and was stopped."""

    problem = "took too long to read"
    remedy = "Raise timeout_s, or split the file."


class DocumentMemoryError(DocumentError):
    """Reading the document took more memory than allowed and was stopped."""

    problem = "took too much memory to read"
    remedy = "Raise max_memory_mb, or split the file."


class ParserCrashedError(DocumentError):
    """The parsing process ended without an answer."""

    problem = "crashed the parser"
    remedy = "The file is probably damaged; try to save it again in its own program."


class ArchiveError(MemReaderError, ValueError):
    """A dump or an archive is not what it should be; `where` names the position in it."""

    def __init__(self, *, path: str, problem: str, remedy: str, where: str = "") -> None:
        self.path = path
        self.problem = problem
        self.remedy = remedy
        self.where = where
        super().__init__(f"{path}{' at ' + where if where else ''}: {problem}. {remedy}")


class StoreError(MemReaderError):
    """The store on disk can't do what was asked."""


class StoreBusyError(StoreError, TimeoutError):
    """Another process held the store's write lock for too long."""

    def __init__(self, *, path: str, timeout_s: float) -> None:
        self.path = path
        self.timeout_s = timeout_s
        super().__init__(f"{path} was locked by another process for {timeout_s:g} s. Try again, or end that process.")


class StoreVersionError(StoreError, ValueError):
    """The folder was written by another version of memreader's schema."""

    def __init__(self, *, path: str, found: int, known: int) -> None:
        self.path = path
        self.found = found
        self.known = known
        super().__init__(
            f"{path} has schema version {found}, this memreader knows {known}. Install the memreader that wrote it."
        )


class StoreCorruptError(StoreError, ValueError):
    """The folder's database is not one of ours, or is damaged."""

    def __init__(self, *, path: str, detail: str) -> None:
        self.path = path
        self.detail = detail
        super().__init__(
            f"{path} is damaged, or no memory of this program: {detail}. Restore a copy, or use another folder."
        )


class StoreFullError(StoreError, OSError):
    """There was no room to write: a full disk, a quota, or a limit on the size of files. The write was taken back."""

    errno = errno_codes.ENOSPC

    def __init__(self, *, path: str, detail: str) -> None:
        self.path = path
        self.detail = detail
        super().__init__(
            f"{path} can't grow: {detail}. Nothing of this write was kept, all that was there is. "
            "Free some space or raise the limit, then write again."
        )


class MemoryFullError(StoreError, RuntimeError):
    """A user has as many memories as `max_items_per_user` allows; nothing of this input was written."""

    def __init__(self, *, count: int, limit: int, wanted: int, expired: int = 0, stored: int = 0) -> None:
        self.count = count
        self.limit = limit
        self.wanted = wanted
        self.expired = expired
        self.stored = stored
        room = f"purge_expired() makes room for {expired}; else " if expired else ""
        before = f" ({stored} items of this call were stored before it)" if stored else ""
        super().__init__(
            f"the user has {count} of at most {limit} items, and {wanted} more don't fit; nothing of this input was "
            f"stored{before}. To go on: {room}delete some, raise max_items_per_user, or open the memory with "
            "when_full='archive'."
        )

    def after(self, stored: int) -> MemoryFullError:
        """Return the same error, of a call that had stored so many items before."""
        return MemoryFullError(
            count=self.count, limit=self.limit, wanted=self.wanted, expired=self.expired, stored=self.stored + stored
        )


class StoreReadOnlyError(StoreError, PermissionError):
    """The folder or a file in it must not be read or written by this user."""

    errno = errno_codes.EACCES

    def __init__(self, *, path: str, detail: str) -> None:
        self.path = path
        self.detail = detail
        super().__init__(
            f"{path} can't be used for a memory: {detail}. Give the user who runs this the right to read and write the "
            "folder and every file in it, or use another folder."
        )


class StoreIOError(StoreError, OSError):
    """The disk, or what happened to the files, let a read or a write fail."""

    errno = errno_codes.EIO

    def __init__(self, *, path: str, detail: str) -> None:
        self.path = path
        self.detail = detail
        super().__init__(
            f"{path} can't be read or written: {detail}. Check disk and folder, then open the memory again."
        )


class NetworkFolderError(StoreError, OSError):
    """The folder is on a file system over which the processes of one machine can't share memory, or not safely."""

    errno = errno_codes.EOPNOTSUPP

    def __init__(self, *, path: str, filesystem: str, mount_point: str = "") -> None:
        self.path = path
        self.filesystem = filesystem
        self.mount_point = mount_point
        where = f" (mounted at {mount_point})" if mount_point else ""
        super().__init__(
            f"{path} is on {filesystem}{where}. A memory needs a local disk: its write-ahead log is shared in memory "
            "between processes, and over a network some would miss what others write. Use a folder on a local disk."
        )


class StoreForkedError(StoreError, RuntimeError):
    """This process was forked in the middle of a read or a write of the store, and can't use it."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} was being read or written when this process was forked from another, and can't be used here. "
            "Fork at another time, or start the process by multiprocessing's 'spawn' or 'forkserver'."
        )


class ItemExistsError(StoreError, ValueError):
    """An item was to be written as new, and its id is there already; nothing was written."""

    def __init__(self, *, item_id: str) -> None:
        self.item_id = item_id
        super().__init__(
            f"there is an item with the id {item_id!r} already, and nothing was written. "
            "Use on_conflict='skip' to keep it, or on_conflict='replace' to take the new one."
        )


class SourceExistsError(StoreError, ValueError):
    """A message or document was to be taken in, and it is there already in other words; nothing was taken in.

    `kind` is "message" or "document"; `place` is the session and the position in it, or the path.
    """

    def __init__(self, *, kind: str, place: str) -> None:
        self.kind = kind
        self.place = place
        super().__init__(
            f"the {kind} {place!r} is there already, in other words, and nothing was taken in. "
            "Use on_conflict='skip' to keep it, or on_conflict='replace' to take the new one."
        )


class ItemNotFoundError(StoreError, LookupError):
    """The user has no item of this id."""

    def __init__(self, *, item_id: str) -> None:
        self.item_id = item_id
        super().__init__(f"the user has no memory with the id {item_id!r}. Look it up with get_all() or search().")


class EntityNotFoundError(StoreError, LookupError):
    """No memory of the user mentions this name."""

    def __init__(self, *, name: str) -> None:
        self.name = name
        super().__init__(f"no memory of the user mentions {name!r}. See graph.entities() for the names there are.")


class VersionNotFoundError(StoreError, LookupError):
    """An item has no such version, or its words are gone."""

    def __init__(self, *, item_id: str, version: int) -> None:
        self.item_id = item_id
        self.version = version
        super().__init__(
            f"the memory {item_id!r} has no version {version} with words. See history() for those that it has."
        )


class ReindexInterruptedError(StoreError, RuntimeError):
    """Another reindexing of the same store began or ended meanwhile; this one changed nothing."""

    def __init__(self) -> None:
        super().__init__(
            "another reindexing of this store began or ended while this one ran, so this one stopped. "
            "The store is whole; look at admin.stats() and start again if need be."
        )


class LateInteractionOffError(MemReaderError, RuntimeError):
    """Token vectors were asked for of a memory that makes none."""

    def __init__(self) -> None:
        super().__init__(
            "this memory makes no token vectors: its embedder gives none, or late interaction is switched off. "
            "Open it with Memory.open(..., late_interaction=True)."
        )


class StoreClosedError(StoreError, RuntimeError):
    """The memory was used after close()."""

    def __init__(self) -> None:
        super().__init__("this memory is closed. Open it again with Memory.open(...).")


def _rebuilt(kind: type[MemReaderError], args: tuple[Any, ...], data: dict[str, Any]) -> MemReaderError:
    # Not through __init__, whose arguments are the data and not the message that is in args.
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(data)
    return error


def require(module: str, *, package: str, extra: str | None = None) -> ModuleType:
    """Return the imported optional `module`.

    Raises:
        MissingExtraError: It, or something it needs, is not installed; chained to the ImportError.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(package=package, extra=extra) from error
