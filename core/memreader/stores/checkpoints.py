"""Large indexes as files, so that they need not be made from the database again: a cache, which may go at any time."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from uuid import uuid4

from memreader.ports import PostingIndex, VectorIndex
from memreader.records import Changes
from memreader.stores.changes import user_hash
from memreader.stores.checkpoint_format import Header, read, read_header, write
from memreader.stores.faiss_index import FlatVectors
from memreader.stores.postings import Postings
from memreader.stores.user_index import ARRAYS, UserIndex

MORE_THAN = 20_000
"""Living items above which a checkpoint is worth its file."""
GROWN = 16
"""A checkpoint is left alone until one in so many items is new: taking these in costs less than writing all."""

__all__ = ["Checkpoints", "Header"]

_log = logging.getLogger(__name__)

# What only some systems have, or need.
_BINARY, _NO_LINK, _NO_WAIT = (getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))


class Checkpoints:
    """One file per user with many items, in `folder/indexes`; folder 0700, files 0600.

    Whatever is wrong with a file, there is none: the index is made from the database. Only who holds the lock file
    writes or removes; whoever finds it taken does without. Logs name files, never users or what they keep.

    Args:
        folder: The store's.
        store_id: The store's own; part of every name and header, so that a foreign file fits nowhere.
        dimension: Of the vectors.
        embedder: What tells the embedder from others; checkpoints of another are not used.
        more_than: Only indexes with more living items than this are saved.
        vectors: Makes the empty vector index of an index that is loaded.
        postings: Likewise.
    """

    def __init__(
        self,
        folder: Path,
        store_id: str,
        *,
        dimension: int,
        embedder: str,
        more_than: int = MORE_THAN,
        vectors: Callable[[int], VectorIndex] = FlatVectors,
        postings: Callable[[], PostingIndex] = Postings,
    ) -> None:
        self.folder = folder / "indexes"
        self._store_id = store_id
        self._dimension = dimension
        self._embedder = embedder
        self._more_than = more_than
        self._make_vectors, self._make_postings = vectors, postings
        self._known: dict[str, Header] = {}
        """Files that this object wrote, or found whole."""

    def path(self, user_id: str) -> Path:
        """Return where the user's checkpoint is, if there is one."""
        return self.folder / f"{user_hash(self._store_id, user_id).hex()[:32]}.ckpt"

    def load(self, user_id: str, *, epoch: int, seq_now: int, token: str | None = None) -> UserIndex | None:
        """Return the user's index as it was at its `seq`, or None if there is no checkpoint that can be trusted.

        Args:
            epoch: The store's; a checkpoint of another is void.
            seq_now: The store's last change; a checkpoint from after it belongs to a database that was put back.
            token: What `save` gave to `remember` last, as far as this database knows: a backup that was put back knows
                an older one, and changes of its own since. None is not compared.
        """
        path = self.path(user_id)
        try:
            with _opened(path) as file:
                header = read_header(file)
                if why := self._unfit(header, user_id, epoch, seq_now, token):
                    _log.info("checkpoint %s is not used: %s", path.name, why)
                    return None
                arrays = read(file, header)
            index = UserIndex.from_arrays(
                user_id,
                self._dimension,
                arrays,
                seq=header.seq,
                vectors=self._make_vectors,
                postings=self._make_postings,
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("checkpoint %s is not used: %s", path.name, error)
            return None
        self._known[path.name] = header
        return index

    def save(
        self,
        index: UserIndex,
        *,
        epoch: int,
        changes: Callable[[int], Changes],
        current: Callable[[], int],
        remember: Callable[[str], None] | None = None,
    ) -> bool:
        """Bring an index up to date and write it down; return whether its checkpoint is good now.

        It isn't if the index is small (as it comes, or when it is up to date), somebody else is writing, the disk
        refuses (logged), or something was deleted during the writing. Errors of the two callables pass.

        Args:
            index: Nobody else must use it meanwhile.
            epoch: The store's, read before this call.
            changes: Gives what the index has missed; see `UserIndex.catch_up`.
            current: Returns the change number of the user's last deletion.
            remember: Keeps a token in the database, for `load`; only with it the new checkpoint counts.
        """
        path = self.path(index.user_id)
        try:
            if len(index) <= self._more_than and not path.exists():
                return False
            self._prepare()
            with self._locked(0) as held:
                return held and self._save(index, path, epoch, changes, current, remember)
        except OSError as error:
            _log.warning("checkpoint %s could not be written: %s", path.name, error)
            return False

    def remove(self, user_id: str, *, timeout_s: float = 0) -> bool:
        """Remove the user's checkpoint; return whether it is gone, see `remove_stale`."""
        return self._remove(lambda path: path == self.path(user_id), timeout_s)

    def remove_all(self, *, timeout_s: float = 0) -> bool:
        """Remove every checkpoint; return whether they are gone, see `remove_stale`."""
        return self._remove(lambda _: True, timeout_s)

    def remove_stale(self, is_fresh: Callable[[Header], bool], *, timeout_s: float) -> bool:
        """Remove all checkpoints that are not fresh or can't be read, and what a killed writer left behind.

        Returns False if they may still be there: another process held the lock for `timeout_s`, or a file would not go
        (logged).
        """
        return self._remove(lambda path: not _is_fresh(path, is_fresh), timeout_s)

    def _unfit(self, header: Header, user_id: str, epoch: int, seq_now: int, token: str | None) -> str:
        """Return why a checkpoint is not of this user, store and time; "" if it is."""
        if header.store_id != self._store_id:
            return "it is of another store"
        if header.user != user_hash(self._store_id, user_id):
            return "it is of another user"
        if header.embedder != self._embedder or header.dimension != self._dimension:
            return "it is of another embedder"
        if header.epoch != epoch:
            return "the store was reindexed"
        if token not in (None, header.token):
            return "the database was put back since, or knows of another one"
        return "it is newer than the store" if header.seq > seq_now else ""

    def _save(
        self,
        index: UserIndex,
        path: Path,
        epoch: int,
        changes: Callable[[int], Changes],
        current: Callable[[], int],
        remember: Callable[[str], None] | None,
    ) -> bool:
        """Write a checkpoint, with the lock held.

        No deleted item outlives a purge in here. A purge comes after its deletion was committed, and it takes the lock.
        If it had the lock before us, the deletion was committed before `catch_up`, and what we write is without the
        item. If it gets the lock after us, it finds our file, whose number is less than the deletion's, and removes it.
        The look at `current` is for a deletion that no purge follows: then the item isn't written, rather than kept
        until the next checkpoint.
        """
        index.catch_up(changes)
        self._sweep(lambda _: False)
        if len(index) <= self._more_than:
            # What is there now may hold what was deleted since.
            path.unlink(missing_ok=True)
            return False
        if self._is_good(index, path, epoch):
            return True
        arrays = index.arrays()
        header = Header(
            store_id=self._store_id,
            user=user_hash(self._store_id, index.user_id),
            epoch=epoch,
            seq=index.seq,
            embedder=self._embedder,
            shapes={name: arrays[name].shape for name in ARRAYS},
            token=uuid4().hex,
        )
        temporary = path.with_suffix(f".{uuid4().hex[:8]}.tmp")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600), "wb") as file:
                write(file, header, arrays)
                file.flush()
                os.fsync(file.fileno())
            if current() > index.seq:
                return False
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync(self.folder)
        if remember is not None:
            remember(header.token)
        index.saved()
        self._known[path.name] = header
        return True

    def _is_good(self, index: UserIndex, path: Path, epoch: int) -> bool:
        """Return whether the file is one we know to be whole, and the index has hardly changed since."""
        known = self._known.get(path.name)
        if known is None or known.epoch != epoch or index.lost or GROWN * index.gained > len(index):
            return False
        return _header_of(path) == known

    def _remove(self, doomed: Callable[[Path], bool], timeout_s: float) -> bool:
        if not self.folder.is_dir():
            return True
        try:
            with self._locked(timeout_s) as held:
                return held and self._sweep(doomed)
        except OSError as error:
            _log.warning("checkpoints could not be removed: %s", error)
            return False

    def _sweep(self, doomed: Callable[[Path], bool]) -> bool:
        """Remove doomed checkpoints and all unfinished ones, with the lock held: their writers are dead."""
        clean = True
        for path in list(self.folder.iterdir()):
            ours = path.suffix in (".ckpt", ".tmp") and (path.is_symlink() or path.is_file())
            if ours and (path.suffix == ".tmp" or doomed(path)):
                try:
                    path.unlink()
                except OSError as error:
                    _log.warning("%s could not be removed: %s", path.name, error)
                    clean = False
        _sync(self.folder)
        return clean

    @contextmanager
    def _locked(self, timeout_s: float) -> Iterator[bool]:
        """Hold the lock file, and tell whether that could be had in time."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / "lock", mode=0o600)
        try:
            lock.acquire(timeout=timeout_s, poll_interval=0.01)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            self.folder.chmod(0o700)


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file for reading; a link is not followed, and a pipe not waited for."""
    with open(os.open(path, os.O_RDONLY | _BINARY | _NO_LINK | _NO_WAIT), "rb") as file:
        yield file


def _header_of(path: Path) -> Header | None:
    """Return the header of a file; None if there is none."""
    try:
        with _opened(path) as file:
            return read_header(file)
    except (OSError, ValueError):
        return None


def _is_fresh(path: Path, rule: Callable[[Header], bool]) -> bool:
    header = _header_of(path)
    return header is not None and rule(header)


def _sync(folder: Path) -> None:
    """Make what was renamed and removed in a folder last; Windows does so by itself."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
