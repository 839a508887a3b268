"""The memory of seed 001: plain text memories of one owner, with MemOS's verbs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from memreader.archive import FILENAME
from memreader.compat.models import chat_model_for, embedder_for
from memreader.compat.translate import folder_of
from memreader.errors import InputError
from memreader.ingest import AddReport
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.patching import Patch
from memreader.ports import ChatModel, Embedder, Tokenizer
from memreader.twins import off_loop

USER = "default"
"""Whose memories a GeneralTextMemory keeps: MemOS's has no users."""


class GeneralTextMemory:
    """MemOS's plain text memory, with all its verbs, over one store.

    Args:
        config: `vector_db` with a `path` (and `collection_name`) names the store's folder, else the memories go when
            this object does; `embedder` as in `MemReaderFactory`; `extractor_llm` reads in `extract`.
        embedder: Takes the place of the configured one.
        tokenizer: In place of the shipped one.
        llm: Takes the place of the configured one.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        embedder: Embedder | None = None,
        tokenizer: Tokenizer | None = None,
        llm: ChatModel | None = None,
    ) -> None:
        self._filename = str(config.get("memory_filename") or FILENAME)
        folder = folder_of(config.get("vector_db"))
        chosen = embedder or embedder_for(config.get("embedder"))
        model = llm or chat_model_for(config.get("extractor_llm"), "extractor_llm")
        self._memory = (
            Memory.in_memory(embedder=chosen, tokenizer=tokenizer, llm=model)
            if folder is None
            else Memory.open(folder, embedder=chosen, tokenizer=tokenizer, llm=model)
        )
        self._user = self._memory.scoped(user_id=USER)
        # MemOS's memory is never closed; the files of this one are when it goes.
        self._finalizer = weakref.finalize(self, self._memory.close)

    @property
    def memory(self) -> Memory:
        """The memory beneath, with all its verbs; its user here is "default"."""
        return self._memory

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._finalizer()

    def extract(self, messages: Sequence[Mapping[str, Any]]) -> list[TextualMemoryItem]:
        """Return what reading `messages` gives, embedded and not stored: a model's memories, or one item per turn."""
        return self._user.extract(messages)

    def add(
        self,
        memories: Sequence[TextualMemoryItem | Mapping[str, Any]] | TextualMemoryItem | Mapping[str, Any],
        *,
        confidence_scale: float = 1,
    ) -> AddReport:
        """Return what adding items, or dicts of their fields, did. An id that is there already is replaced.

        Args:
            memories: One or several. A dict without an `id` gets one that follows from its words.
            confidence_scale: What the `confidence` in dicts counts to: 100 for MemOS's percentages. Items have 0 to 1.

        Raises:
            InputError: Something is neither, or a field of it is not valid; it is named.
            ValueError: `confidence_scale` is not above 0.
        """
        if not confidence_scale > 0:
            raise ValueError(f"confidence_scale must be above 0, got {confidence_scale}")
        given = [memories] if isinstance(memories, TextualMemoryItem | Mapping) else list(memories)
        return self._user.add([_item(one, place, confidence_scale) for place, one in enumerate(given)])

    def search(self, query: str, top_k: int = 5) -> list[TextualMemoryItem]:
        """Return the `top_k` best items (all, if there are fewer), best first, even if none has to do with `query`."""
        return [hit.item for hit in self._user.search(query, top_k, threshold=0)]

    def get(self, memory_id: str) -> TextualMemoryItem | None:
        """Return the item, or None."""
        return self._user.get(memory_id)

    def get_by_ids(self, ids: Sequence[str]) -> list[TextualMemoryItem]:
        """Return the items of those ids that are there, in the order asked."""
        return [item for item in self._user.get_by_ids(ids) if item is not None]

    def get_all(self) -> list[TextualMemoryItem]:
        """Return all items, oldest first."""
        return self._user.get_all()

    def delete(self, ids: str | Sequence[str]) -> list[str]:
        """Delete items and return the ids that were there."""
        return self._user.delete(ids)

    def update(self, memory_id: str, new: Patch) -> TextualMemoryItem:
        """Return the item with the given fields changed; its id stays.

        Raises:
            ItemNotFoundError: There is no item of this id.
            InputError: A field is unknown or not valid.
        """
        return self._user.update(memory_id, new)

    def delete_all(self) -> None:
        """Delete everything."""
        self._user.delete_all()

    def dump(self, dir: str | os.PathLike[str]) -> None:
        """Write all items as a JSON list to `<dir>/<memory_filename>`."""
        self._user.dump(dir, filename=self._filename)

    def load(self, dir: str | os.PathLike[str], *, confidence_scale: float = 1) -> AddReport:
        """Return what adding the items of `<dir>/<memory_filename>` did; an id that is there is replaced.

        Args:
            dir: Where `dump`, ours or MemOS's, wrote.
            confidence_scale: What `confidence` in it counts to: 100 for MemOS's percentages.

        Raises:
            ArchiveError: The file can't be read; nothing was loaded.
        """
        return self._user.load(
            dir, filename=self._filename, on_conflict="replace", rescope=True, confidence_scale=confidence_scale
        )

    aextract = off_loop(extract)
    aadd = off_loop(add)
    asearch = off_loop(search)
    aget = off_loop(get)
    aget_by_ids = off_loop(get_by_ids)
    aget_all = off_loop(get_all)
    aupdate = off_loop(update)
    adelete = off_loop(delete)
    adelete_all = off_loop(delete_all)
    adump = off_loop(dump)
    aload = off_loop(load)


def _item(given: Any, place: int, scale: float) -> TextualMemoryItem | dict[str, Any]:
    if isinstance(given, TextualMemoryItem):
        return given
    if not isinstance(given, Mapping) or "memory" not in given:
        raise InputError("neither an item nor a dict with 'memory'", locator=f"[{place}]")
    item = dict(given)
    metadata = item.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("confidence"), int | float):
        item["metadata"] = {**metadata, "confidence": metadata["confidence"] / scale}
    return item
