"""The graph of a memory: names that are one, whoever says so, and taken apart again."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import browser_path, opened
from memreader.errors import EntityNotFoundError, StoreClosedError
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.records import Batch, Entity, ItemRecord
from memreader.stores.alias_groups import Alias, Groups
from memreader.testing import HashEmbedder

Call = Callable[..., Any]
NAMES = ("Ana", "Ben", "Bob", "Robert", "Lisbon")
MET = "Bob met Ana in Lisbon."
STATED = "Robert, a.k.a. Bob, is a pilot."


def tell(memory: Memory, words: str, *entities: str, user: str = "ana", item_id: str | None = None) -> str:
    item = {"memory": words, "metadata": {"entities": list(entities)}, **({"id": item_id} if item_id else {})}
    report = memory.add(item, user_id=user, reconcile=False)
    return (report.added or report.existing)[0]


def names(found: Iterable[Entity]) -> list[tuple[str, int]]:
    return [(entity.name, entity.items) for entity in found]


def seen(memory: Memory, user: str = "ana") -> Any:
    """All that the graph tells of a user."""
    graph = memory.graph
    entities = graph.entities(user_id=user)
    return (
        sorted((entity.key, entity.items) for entity in entities),
        {entity.name: sorted(names(graph.neighbours(entity.name, user_id=user, hops=2))) for entity in entities},
        {name: sorted(graph.mentions(name, user_id=user)) for name in NAMES},
        sorted((one.head, one.relation, one.tail) for one in graph.relations(user_id=user)),
        {frozenset((one.one, one.other)) for one in graph.suggestions(user_id=user)},
        graph.quality(user_id=user),
    )


def rows(memory: Memory) -> list[tuple[Any, ...]]:
    with memory._store._database.reading() as db:
        return db.execute("SELECT user_id, key, entity, origin FROM aliases ORDER BY id").fetchall()


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    def now(owner: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, verb)(*args, **kwargs)

    def later(owner: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(getattr(owner, f"a{verb}")(*args, **kwargs))

    return now if request.param == "sync" else later


def test_a_day_of_the_graph(memory: Memory, call: Call, tmp_path: Path) -> None:
    met, ben = tell(memory, MET, "Bob", "Ana", "Lisbon"), tell(memory, "Robert hired Ben.", "Robert", "Ben")
    graph = memory.graph
    assert names(call(graph, "entities", user_id="ana", limit=2)) == [("Ana", 1), ("Ben", 1)]
    assert names(call(graph, "neighbours", "bob", user_id="ana")) == [("Ana", 1), ("Lisbon", 1)]
    assert [(one.one, one.other) for one in call(graph, "suggestions", user_id="ana")] == [("Bob", "Robert")]
    call(graph, "merge_entities", "Robert", "Bob", user_id="ana")
    assert names(call(graph, "entities", user_id="ana"))[0] == ("Robert", 2)
    assert call(graph, "mentions", "Bob", user_id="ana") == [met, ben] == graph.mentions("Robert", user_id="ana")
    assert names(call(graph, "neighbours", "Bob", user_id="ana")) == [("Ana", 1), ("Ben", 1), ("Lisbon", 1)]
    assert call(graph, "suggestions", user_id="ana") == []
    assert call(graph, "relations", user_id="ana") == []
    assert call(graph, "quality", user_id="ana").hubs[0] == ("Robert", 3)
    path = call(graph, "export_json", tmp_path / "g.json", user_id="ana")
    assert {node["name"] for node in json.loads(path.read_text("utf-8"))["nodes"]} == {"Ana", "Ben", "Lisbon", "Robert"}
    assert nx.read_graphml(call(graph, "export_graphml", tmp_path / "g.graphml", user_id="ana")).number_of_nodes() == 4
    assert MET in call(graph, "export_html", tmp_path / "g.html", user_id="ana").read_text("utf-8")
    call(graph, "split_entity", "Bob", user_id="ana")
    assert call(graph, "mentions", "Bob", user_id="ana") == [met]


def test_neighbours_of_neighbours_follow_the_nearer_ones(memory: Memory) -> None:
    tell(memory, MET, "Bob", "Ana")
    tell(memory, "Ana saw Lisbon.", "Ana", "Lisbon")
    tell(memory, "Lisbon has Ben.", "Lisbon", "Ben")
    assert names(memory.graph.neighbours("Bob", user_id="ana", hops=2)) == [("Ana", 1), ("Lisbon", 1)]
    with pytest.raises(ValueError, match="hops"):
        memory.graph.neighbours("Bob", user_id="ana", hops=3)


def test_a_name_that_nothing_mentions_has_nothing_and_is_never_merged(memory: Memory) -> None:
    tell(memory, MET, "Bob")
    graph = memory.graph
    assert graph.neighbours("Zoe", user_id="ana", hops=2) == graph.mentions("Zoe", user_id="ana") == []
    assert graph.relations("Zoe", user_id="ana") == []
    for pair in (("Bob", "Zoe"), ("Zoe", "Bob"), ("Bob", ""), ("", "Bob")):
        with pytest.raises(EntityNotFoundError, match="no memory of the user mentions"):
            graph.merge_entities(*pair, user_id="ana")
    with pytest.raises(EntityNotFoundError):
        graph.split_entity("Zoe", user_id="ana")
    assert rows(memory) == []


def test_names_merged_with_themselves_change_nothing(memory: Memory) -> None:
    tell(memory, MET, "Bob")
    memory.graph.merge_entities("Bob", " bob", user_id="ana")
    assert rows(memory) == []


def test_what_is_stated_is_one_until_the_item_that_states_it_goes(memory: Memory) -> None:
    tell(memory, MET, "Bob", "Ana")
    tell(memory, "Robert hired Ben.", "Robert", "Ben")
    before = seen(memory)
    stated = tell(memory, STATED, item_id="stated")
    assert ("Robert", 3) in names(memory.graph.entities(user_id="ana"))
    assert memory.graph.suggestions(user_id="ana") == []
    memory.delete(stated, user_id="ana")
    assert seen(memory) == before
    assert rows(memory) == []


def test_other_words_state_something_else_and_other_tags_the_same(memory: Memory) -> None:
    tell(memory, MET, "Bob", "Robert")
    stated = tell(memory, STATED)
    memory.update(stated, {"tags": ["work"]}, user_id="ana")
    assert rows(memory) == [("ana", "bob", "robert", "stated")]
    memory.update(stated, "Robert is a pilot.", user_id="ana")
    assert rows(memory) == []


def test_a_turn_states_it_too(memory: Memory) -> None:
    tell(memory, "张三 arrived.", "张三", "Zhang San")
    memory.add("My friend 张三 (Zhang San) is here.", user_id="ana")
    assert [entity.items for entity in memory.graph.entities(user_id="ana")] == [2]


def test_what_is_stated_wrongly_is_taken_apart_for_good(memory: Memory) -> None:
    tell(memory, MET, "Bob", "Ana")
    tell(memory, "Robert hired Ben.", "Robert", "Ben")
    tell(memory, STATED, "Robert")
    memory.graph.split_entity("Bob", user_id="ana")
    tell(memory, "Robert, also known as Bob, sings.", "Robert")
    assert ("Bob", 1) in names(memory.graph.entities(user_id="ana"))
    assert memory.graph.suggestions(user_id="ana") == []
    memory.graph.merge_entities("Bob", "Robert", user_id="ana")
    assert names(memory.graph.entities(user_id="ana"))[0] == ("Bob", 4)


def test_the_last_word_on_a_name_counts(memory: Memory) -> None:
    for one in ("Bob", "Robert", "Ben"):
        tell(memory, f"{one} came.", one)
    graph = memory.graph
    graph.merge_entities("Robert", "Bob", user_id="ana")
    graph.merge_entities("Bob", "Robert", user_id="ana")
    assert [entity.name for entity in graph.entities(user_id="ana")] == ["Bob", "Ben"]
    assert rows(memory) == [("ana", "robert", "bob", "user")]
    graph.merge_entities("Ben", "Bob", user_id="ana")
    graph.merge_entities("Robert", "Ben", user_id="ana")
    assert names(graph.entities(user_id="ana")) == [("Robert", 3)]


def test_a_merge_is_forgotten_with_the_last_mention_of_a_name(memory: Memory) -> None:
    tell(memory, "Robert hired Ben.", "Robert", "Ben")
    met = tell(memory, MET, "Bob")
    memory.graph.merge_entities("Robert", "Bob", user_id="ana")
    memory.delete(met, user_id="ana")
    assert rows(memory) == []


def test_a_deleted_name_is_in_no_file(memory: Memory) -> None:
    tell(memory, "Robert hired Ben.", "Robert", "Ben")
    met = tell(memory, "Zyxquorble, a.k.a. Bob, met Ana.", "Zyxquorble")
    memory.graph.merge_entities("Robert", "Zyxquorble", user_id="ana")
    memory.graph.split_entity("Zyxquorble", user_id="ana")
    memory.graph.merge_entities("Robert", "Zyxquorble", user_id="ana")
    memory.delete(met, user_id="ana")
    assert memory.admin.purge().complete
    files = [path.read_bytes().lower() for path in memory.folder.rglob("*") if path.is_file()]
    assert not any(b"zyxquorble" in content for content in files)


def test_a_merge_outlives_a_new_version_of_the_only_mention(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "Robert hired Ben.", "Robert")
    met = tell(memory, MET, "Bob")
    memory.graph.merge_entities("Robert", "Bob", user_id="ana")
    memory.update(met, {"memory": "Bob left.", "entities": ["Bob", "Ana"]}, user_id="ana")
    assert names(memory.graph.entities(user_id="ana")) == [("Robert", 2), ("Ana", 1)]


def test_deleting_all_leaves_no_row(memory: Memory) -> None:
    for user in ("ana", "ben"):
        tell(memory, MET, "Bob", "Robert", user=user, item_id=f"{user}1")
        tell(memory, STATED, "Robert", "Ana", user=user, item_id=f"{user}2")
        memory.graph.merge_entities("Robert", "Ana", user_id=user)
    before = seen(memory, "ben")
    memory.delete_all(user_id="ana")
    assert {row[0] for row in rows(memory)} == {"ben"}
    assert seen(memory, "ben") == before
    memory.delete_all(user_id="ben")
    assert rows(memory) == []


def test_other_users_are_absent(memory: Memory) -> None:
    tell(memory, MET, "Bob", "Robert", item_id="a")
    tell(memory, MET, "Bob", "Robert", user="ben", item_id="b")
    before = seen(memory, "ben")
    memory.graph.merge_entities("Robert", "Bob", user_id="ana")
    tell(memory, "Robert, a.k.a. Ana, sings.", "Ana", item_id="c")
    assert seen(memory, "ben") == before
    assert memory.graph.entities(user_id="zoe") == []


def test_a_closed_memory_has_no_graph(memory: Memory) -> None:
    graph = memory.graph
    memory.close()
    with pytest.raises(StoreClosedError):
        _ = memory.graph
    with pytest.raises(StoreClosedError):
        graph.entities(user_id="ana")


def test_a_relation_is_found_under_either_name(memory: Memory) -> None:
    relate(memory, 0, "Bob", "Ana")
    relate(memory, 1, "Robert", "Lisbon")
    memory.graph.merge_entities("Robert", "Bob", user_id="ana")
    found = [(one.head, one.tail) for one in memory.graph.relations("Bob", user_id="ana")]
    assert found == [("Robert", "Ana"), ("Robert", "Lisbon")]
    assert memory.graph.relations("Robert", user_id="ana") == memory.graph.relations(user_id="ana")


def test_stats_tell_the_share_seen_once(memory: Memory) -> None:
    assert memory.admin.stats().seen_once == 0.0
    tell(memory, MET, "Bob", "Ana", item_id="1")
    tell(memory, "Bob left.", "Bob", "Lisbon", "Ben", item_id="2")
    tell(memory, "Bob came.", "Bob", user="zoe", item_id="3")
    assert memory.admin.stats("ana").seen_once == 0.75
    assert memory.admin.stats().seen_once == 0.8


def relate(memory: Memory, number: int, head: str, tail: str) -> None:
    """Write a relation as a model's reading would."""
    item = TextualMemoryItem(memory=f"{head} knows {tail} ({number}).", metadata={"entities": [head, tail]})
    vector = HashEmbedder().embed([item.memory])[0]
    record = ItemRecord(item, vector, {1: 1}, relations=((head, "knows", tail),))
    memory._store.write(Batch("ana", items=(record,)))


@pytest.fixture(scope="module")
def shared() -> Iterator[Memory]:
    """One memory for many examples, emptied by each."""
    with Memory.in_memory(embedder=HashEmbedder(dimension=16)) as memory:
        yield memory


told = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True), min_size=1, max_size=5)
merges = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=3)


def fill(memory: Memory, mentioned: Sequence[Sequence[str]], user: str) -> set[str]:
    memory.delete_all(user_id=user)
    for number, given_names in enumerate(mentioned):
        tell(memory, f"Number {number}.", *given_names, user=user, item_id=f"{user}-{number}")
    return {name for part in mentioned for name in part}


@given(told, merges, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_a_merge_and_a_split_leave_things_as_before(
    shared: Memory, mentioned: list[list[str]], earlier: list[tuple[str, str]], one: str, other: str
) -> None:
    known = fill(shared, mentioned, "ana") | {one, other}
    tell(shared, "Also these.", one, other, item_id="both")
    for pair in earlier:
        # The law is of a name that stands alone.
        if known.issuperset(pair) and other not in pair:
            shared.graph.merge_entities(*pair, user_id="ana")
    before, kept = seen(shared), rows(shared)
    shared.graph.merge_entities(one, other, user_id="ana")
    assert shared.graph.mentions(one, user_id="ana") == shared.graph.mentions(other, user_id="ana")
    if one != other:
        shared.graph.split_entity(other, user_id="ana")
    assert (seen(shared), rows(shared)) == (before, kept)


@given(told, st.permutations(["Robert, a.k.a. Bob.", "Bob, a.k.a. Ben.", "Robert, a.k.a. Ana."]), st.randoms())
def test_the_order_of_adds_does_not_matter(
    shared: Memory, mentioned: list[list[str]], statements: list[str], dice: random.Random
) -> None:
    nothing: list[str] = []
    adds = [(f"Number {number}.", part) for number, part in enumerate(mentioned)]
    adds += [(words, nothing) for words in statements]
    for user in ("ana", "ben"):
        dice.shuffle(adds)
        shared.delete_all(user_id=user)
        for words, entities in adds:
            tell(shared, words, *entities, user=user, item_id=words)
    assert seen(shared, "ana") == seen(shared, "ben")


keys = st.sampled_from("abcde")
pairs = st.lists(st.builds(Alias, keys, keys, st.sampled_from(["stated", "user", "apart"])), max_size=8)
counts = st.dictionaries(keys, st.integers(1, 5))


class TestGroups:
    """Which names are one, of pairs of them."""

    @given(pairs, counts)
    def test_one_of_a_group_is_shown_for_all_and_is_there_if_any_is(
        self, aliases: list[Alias], items: dict[str, int]
    ) -> None:
        groups = Groups(aliases, items)
        for key in "abcde":
            members = groups.members(key)
            assert key in members
            assert {groups.members(one) for one in members} == {members}
            assert {groups.shown(one) for one in members} <= set(members)
            assert len({groups.shown(one) for one in members}) == 1
            if any(items.get(one) for one in members):
                assert items.get(groups.shown(key)) or members == (key,)

    @given(pairs, counts)
    def test_the_order_of_what_items_state_does_not_matter(self, aliases: list[Alias], items: dict[str, int]) -> None:
        stated = [each for each in aliases if each.origin == "stated"][:4]
        for order in permutations(stated):
            found, other = Groups(stated, items), Groups(list(order), items)
            assert [found.shown(key) for key in "abcde"] == [other.shown(key) for key in "abcde"]

    def test_a_pair_told_apart_may_be_one_by_another_way(self) -> None:
        apart = [Alias("b", "a", "stated"), Alias("b", "a", "apart")]
        assert Groups(apart, {"a": 1, "b": 1}).members("a") == ("a",)
        around = [*apart, Alias("c", "a", "user"), Alias("c", "b", "user")]
        assert Groups(around, {"a": 1, "b": 1}).members("a") == ("a", "b", "c")

    def test_what_is_nobodys_alias_is_shown_before_what_is_mentioned_more(self) -> None:
        assert Groups([Alias("b", "a", "stated")], {"a": 1, "b": 9}).shown("b") == "a"
        assert Groups([Alias("b", "a", "stated")], {"b": 9}).shown("a") == "b"

    def test_the_user_decides_against_what_is_stated(self) -> None:
        aliases = [Alias("a", "b", "user"), Alias("b", "a", "stated")]
        assert Groups(aliases, {"a": 9, "b": 1}).shown("a") == "b"


def in_threads(memory: Memory, *, threads: int, adds: int) -> None:
    """Add from several threads at once what shares entities and states aliases."""

    def work(thread: int) -> None:
        for number in range(adds):
            words = f"Robert, a.k.a. Bob, met friend {thread}-{number}."
            entities = ["Robert", "Bob", f"Friend {number % 7}"]
            item = TextualMemoryItem(memory=words, metadata={"entities": entities})
            vector = embedder.embed([words])[0]
            relations = (("Robert", "knows", f"Friend {number % 7}"),)
            aliases = (("Robert", "Bob"),)
            record = ItemRecord(item, vector, {1: 1}, relations=relations, aliases=aliases)
            memory._store.write(Batch("ana", items=(record,)))
            if number % 50 == 0:
                memory.graph.merge_entities("Robert", "Friend 0", user_id="ana")

    embedder = HashEmbedder()
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, thread) for thread in range(threads)]:
            done.result()
    count = threads * adds
    graph = memory.graph
    found = names(graph.entities(user_id="ana"))
    assert found[0] == ("Robert", count)
    assert len({name for name, _ in found}) == len(found) == 7
    assert len(graph.relations(user_id="ana")) == count
    assert len(graph.mentions("Bob", user_id="ana")) == count
    with memory._store._database.reading() as db:
        assert db.execute("SELECT count(*) FROM entities").fetchone() == (9,)
    assert len([row for row in rows(memory) if row[3] == "user"]) == 1


def test_threads_make_one_entity_of_a_name_and_lose_no_relation(memory: Memory) -> None:
    in_threads(memory, threads=6, adds=14)


@pytest.mark.long
def test_twenty_threads_make_one_entity_of_a_name_and_lose_no_relation(memory: Memory) -> None:
    in_threads(memory, threads=20, adds=200)


@pytest.mark.skipif(not browser_path(), reason="no Chromium here: install chromium, or name one in CHROMIUM")
def test_the_page_of_a_memory_opens_and_shows_who_is_one(memory: Memory, tmp_path: Path) -> None:
    tell(memory, MET, "Bob", "Ana", "Lisbon", item_id="1")
    tell(memory, "Robert hired Ben.", "Robert", "Ben", item_id="2")
    tell(memory, STATED, item_id="3")
    file = memory.graph.export_html(tmp_path / "graph.html", user_id="ana")
    with opened(file, tmp_path / "profile") as page:
        page.wait("document.body.dataset.settled === 'yes'")
        shown = page.evaluate("[...document.querySelectorAll('g.node')].map((n) => n.getAttribute('aria-label'))")
        assert sorted(shown) == ["Ana", "Ben", "Lisbon", "Robert"]
        assert page.evaluate("document.querySelectorAll('#edges line').length") == 4
        page.press("g.node[aria-label='Robert'] circle")
        panel = page.evaluate("document.getElementById('panel').innerText")
        assert MET in panel
        assert "Robert hired Ben." in panel
        assert page.errors == []
