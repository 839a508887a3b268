"""A toy language of facts that repeat and end each other, and what a store makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from memreader.items import SourceMessage, TextualMemoryItem, TextualMemoryMetadata
from memreader.records import Batch, Decision, ItemRecord, Selection, Written
from memreader.stores import Store
from memreader.stores.settling import moment
from memreader.testing import HashEmbedder

EMBEDDER = HashEmbedder(dimension=16)
Said = tuple[str, str, int]
"""Attribute, value with a spelling ("lisbon", "Lisbon!"), year."""


def fact(attribute: str, value: str, year: int, number: int, entities: Sequence[str] = ()) -> TextualMemoryItem:
    source = SourceMessage(role="user", content=f"source {number} {value}", session_id="s", index=number)
    return TextualMemoryItem(
        id=f"f{number}",
        memory=f"{attribute} is {value}",
        metadata=TextualMemoryMetadata(
            user_id="ana", sources=[source], memory_time=f"{year}-01-01", entities=list(entities)
        ),
    )


def read(item: TextualMemoryItem) -> tuple[str, str]:
    attribute, _, value = item.memory.partition(" is ")
    return attribute, value.strip("!").lower()


def settle(new: TextualMemoryItem, old: TextualMemoryItem) -> Decision:
    """The rule of this toy language: the same value is the same fact, another one the next."""
    (attribute, value), (other, known) = read(new), read(old)
    assert attribute == other
    if value == known:
        return Decision("merge", "same words", "old")
    here, there = (moment(one.metadata.memory_time or "") for one in (new, old))
    if here == there:
        return Decision("add", "equal times")
    return Decision("supersede", f"{attribute} is another", "new" if here > there else "old")


def record(item: TextualMemoryItem) -> ItemRecord:
    number = item.id[1:]
    vector = EMBEDDER.embed([item.memory])[0]
    return ItemRecord(item, vector, {1: 1}, (f"k{number}",), keys=(read(item)[0], "/".join(read(item))))


def add(store: Store, item: TextualMemoryItem) -> Written:
    return store.write(Batch("ana", items=(record(item),), settle=settle))


def current(store: Store) -> list[TextualMemoryItem]:
    return store.read("ana", Selection(behind=False))


def ends(store: Store) -> set[tuple[str, str, str, str]]:
    """What is so no longer: attribute, value, when it began and ended."""
    found = store.read("ana", Selection())
    return {
        (*read(item), str(item.metadata.memory_time), item.metadata.valid_until)
        for item in found
        if item.metadata.valid_until
    }


def state(store: Store) -> tuple[set[tuple[str, str]], set[str], set[tuple[str, str, str, str]]]:
    """What is so, what it rests on, and what is so no longer."""
    items = current(store)
    assert all(item.metadata.status == "activated" and item.metadata.valid_until is None for item in items)
    rests_on = {str(source.content) for item in items for source in item.metadata.sources}
    return {read(item) for item in items}, rests_on, ends(store)


SAID = st.tuples(
    st.sampled_from(["home", "job"]), st.sampled_from(["a", "A", "a!", "b", "B!", "c"]), st.integers(2020, 2026)
)


def year_is_one_value(said: list[Said]) -> bool:
    """Two values at one time contradict each other, and then the order of telling may count."""
    values: dict[tuple[str, int], str] = {}
    return all(
        values.setdefault((what, year), value.strip("!").lower()) == value.strip("!").lower()
        for what, value, year in said
    )
