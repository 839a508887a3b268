"""Where memories are kept: SQLite is the truth, FAISS and postings in memory are its index."""

from memreader.records import Batch, DocumentRecord, ItemRecord, MessageRecord, Written
from memreader.stores.sqlite import Store
from memreader.stores.user_index import Evidence

__all__ = ["Batch", "DocumentRecord", "Evidence", "ItemRecord", "MessageRecord", "Store", "Written"]
