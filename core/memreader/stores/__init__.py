"""Where memories are kept: SQLite is the truth, FAISS and postings in memory are its index."""

from memreader.records import Batch, DocumentRecord, ItemRecord, MessageRecord, Selection, Stats, Written
from memreader.stores.facts import Facts
from memreader.stores.store import Store
from memreader.stores.user_index import Evidence

__all__ = [
    "Batch",
    "DocumentRecord",
    "Evidence",
    "Facts",
    "ItemRecord",
    "MessageRecord",
    "Selection",
    "Stats",
    "Store",
    "Written",
]
