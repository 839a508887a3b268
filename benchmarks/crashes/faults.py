"""Faults put into a store on purpose: each ends in the right answer, or in an error that says what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crashes.children import StepError, Templates, child, result_of, run_child
from benchmarks.crashes.phases import USER, checkpoint_files, name_of, open_any, prepare
from benchmarks.crashes.words import State, parse, text_of

RIGHT = "right answer"
NOBODY = 65534
OTHER = "ben"


@dataclass
class Place:
    """A store with a checkpoint, in a folder of its own, and what it holds."""

    folder: Path
    state: State

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def checkpoint(self) -> Path:
        return checkpoint_files(self.store)[0]

    def change(self, mark: str = "late", *, deletes: bool = True, checkpoint: bool = True) -> None:
        """Add, update and (after which closing purges) delete; write the checkpoint anew, or leave it behind."""
        with open_any(self.store) as memory:
            known = {(parse(item.memory) or ("", 0))[0]: item for item in memory.get_all(user_id=USER, limit=60)}
            for number, (slot, item) in enumerate(known.items()):
                new = f"{mark}-{number}"
                memory.add({"memory": text_of(new, 0)}, user_id=USER)
                self.state[name_of(new)] = 0
                if deletes and number % 2:
                    memory.delete(item.id, user_id=USER)
                    self.state[name_of(slot)] = None
                else:
                    patch = {"memory": text_of(slot, 1), "metadata": {"info": {"version": 1}}}
                    memory.update(item.id, patch, user_id=USER)
                    self.state[name_of(slot)] = 1
            if checkpoint:
                memory.search("so that closing has an index to write down", user_id=USER)
                self.checkpoint.unlink()

    def answer(self, *options: str) -> str:
        """Return what a fresh process makes of the store."""
        path = self.folder / "expected.json"
        path.write_text(json.dumps(self.state), encoding="utf-8")
        try:
            found = json.loads(run_child("check", self.store, "--state", path, *options))
        except StepError as error:
            return f"WRONG: crashed, {error}"
        if found["error"]:
            return str(found["error"]).replace(str(self.store), "STORE")
        wrong = {kind: found[kind] for kind in ("lost", "undone", "torn") if found[kind]}
        return f"WRONG: {wrong}, {found['examples'][0]}" if wrong else RIGHT


def _cut(place: Place, keep: float) -> str:
    os.truncate(place.checkpoint, int(keep * place.checkpoint.stat().st_size))
    return place.answer()


def _flip(place: Place) -> str:
    data = bytearray(place.checkpoint.read_bytes())
    data[len(data) // 2] ^= 4
    place.checkpoint.write_bytes(data)
    return place.answer()


def _older(place: Place) -> str:
    old = place.checkpoint.read_bytes()
    place.change()
    place.checkpoint.write_bytes(old)
    return place.answer()


def _newer(place: Place) -> str:
    with _database_put_back(place):
        place.change()
    return place.answer()


def _other_history(place: Place) -> str:
    with _database_put_back(place):
        place.change("first")
    # Now with other changes, up to a number that is higher than that of the checkpoint.
    place.change("second", deletes=False, checkpoint=False)
    place.change("third", deletes=False, checkpoint=False)
    return place.answer()


@contextmanager
def _database_put_back(place: Place) -> Iterator[None]:
    backup, state = place.folder / "backup", dict(place.state)
    backup.mkdir(mode=0o700)
    for file in place.store.glob("memory.db*"):
        shutil.copy(file, backup)
    yield
    for file in place.store.glob("memory.db*"):
        file.unlink()
    shutil.copytree(backup, place.store, dirs_exist_ok=True)
    place.state = state


def _foreign(place: Place) -> str:
    other = place.folder / "other"
    prepare(other, large=True)
    shutil.copy(checkpoint_files(other)[0], place.checkpoint)
    return place.answer()


def _of_another_user(place: Place) -> str:
    own = place.checkpoint
    with open_any(place.store) as memory:
        texts = [{"memory": text_of(f"theirs-{number}", 0)} for number in range(21_000)]
        memory.add(texts, user_id=OTHER)
        memory.search("so that closing has an index to write down", user_id=OTHER)
    place.state |= {name_of(f"theirs-{number}", OTHER): 0 for number in range(21_000)}
    (theirs,) = (file for file in checkpoint_files(place.store) if file != own)
    shutil.copy(theirs, own)
    return place.answer()


def _folder_in_its_place(place: Place) -> str:
    path = place.checkpoint
    path.unlink()
    path.mkdir()
    return place.answer()


def _database_cut(place: Place) -> str:
    database = place.store / "memory.db"
    os.truncate(database, database.stat().st_size // 2)
    return place.answer()


def _database_overwritten(place: Place) -> str:
    with (place.store / "memory.db").open("r+b") as file:
        file.write(bytes(4096))
    return place.answer()


def _open_to_all(place: Place) -> str:
    for path in (place.store, *place.store.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return f"{place.answer()}; memory.db is now {(place.store / 'memory.db').stat().st_mode & 0o777:o}"


def _without_rights(mode_of_folder: int, mode_of_files: int) -> Callable[[Place], str]:
    """Return a fault of modes, looked at by somebody who is not root, for whom modes mean nothing."""

    def fault(place: Place) -> str:
        paths = [place.store, *place.store.rglob("*")]
        if os.geteuid() == 0:
            for path in (place.folder, *place.folder.parents):
                if path.owner() == "root" and path.stat().st_mode & 0o777 == 0o700:
                    path.chmod(0o711)
            for path in paths:
                os.chown(path, NOBODY, NOBODY)
        for path in reversed(paths):
            path.chmod(mode_of_folder if path.is_dir() else mode_of_files)
        said = place.answer("--as-user", str(NOBODY))
        for path in paths:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return f"{said}; afterwards: {place.answer()}"

    return fault


def _disk_full_at_adds(place: Place) -> str:
    with _small_disk(place, room_mb=1) as free:
        log = place.folder / "w0.log"
        with child("write", place.store, "--phase", "adds", "--name", "w0", "--logs", log) as writer:
            result_of(writer)
            try:
                result_of(writer)
            except StepError as error:
                said = str(error).replace(str(place.store), "STORE")
        free()
        after = json.loads(run_child("check", place.store, "--state", _written(place), "--logs", log))
    wrong = after["error"] or {kind: after[kind] for kind in ("lost", "undone", "torn") if after[kind]}
    return f"{said}; with room again: {f'WRONG: {wrong}' if wrong else RIGHT}"


def _disk_full_at_checkpoint(place: Place) -> str:
    place.checkpoint.unlink()
    with _small_disk(place, room_mb=2):
        return place.answer()


def _written(place: Place) -> Path:
    path = place.folder / "expected.json"
    path.write_text(json.dumps(place.state), encoding="utf-8")
    return path


@contextmanager
def _small_disk(place: Place, *, room_mb: int) -> Iterator[Callable[[], None]]:
    """Put the store on a disk that has little room left; gives a function that makes room."""
    size = sum(file.stat().st_size for file in place.store.rglob("*") if file.is_file())
    aside = place.folder / "aside"
    place.store.rename(aside)
    place.store.mkdir(mode=0o700)
    options = f"size={size + (room_mb << 20)},mode=0700"
    mounting = ["mount", "-t", "tmpfs", "-o", options, "memreader-faults", str(place.store)]
    done = subprocess.run(mounting, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepError("not tried: only root can mount a small disk")

    def make_room() -> None:
        subprocess.run(["mount", "-o", "remount,size=100%", str(place.store)], check=True)

    try:
        shutil.copytree(aside, place.store, dirs_exist_ok=True)
        yield make_room
    finally:
        subprocess.run(["umount", str(place.store)], check=True)


FAULTS: dict[str, Callable[[Place], str]] = {
    "checkpoint cut in half": lambda place: _cut(place, 0.5),
    "checkpoint without its last percent": lambda place: _cut(place, 0.99),
    "checkpoint empty": lambda place: _cut(place, 0),
    "checkpoint with one bit flipped": _flip,
    "checkpoint older than the database": _older,
    "checkpoint newer than the database (put back)": _newer,
    "the same, and other changes since": _other_history,
    "checkpoint of another store": _foreign,
    "checkpoint of another user": _of_another_user,
    "a folder in the checkpoint's place": _folder_in_its_place,
    "disk full during adds": _disk_full_at_adds,
    "disk full when a checkpoint is written": _disk_full_at_checkpoint,
    "read-only folder and files": _without_rights(0o500, 0o400),
    "read-only folder": _without_rights(0o500, 0o600),
    "folder without any rights": _without_rights(0o000, 0o600),
    "files without any rights": _without_rights(0o700, 0o000),
    "folder and files open to everybody": _open_to_all,
    "database cut in half": _database_cut,
    "start of the database overwritten": _database_overwritten,
}


def run(templates: Templates, progress: Callable[[str, int, int], None]) -> dict[str, dict[str, str | float]]:
    """Return what came of each fault, and after how long (making it included)."""
    results: dict[str, dict[str, str | float]] = {}
    for number, (name, fault) in enumerate(FAULTS.items()):
        progress(name, number, len(FAULTS))
        with templates.copy(large=True) as folder:
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            begun = time.perf_counter()
            try:
                outcome = fault(Place(folder, state))
            except StepError as error:
                outcome = str(error)
            results[name] = {"s": time.perf_counter() - begun, "outcome": outcome}
    return results
