"""Every verb, tried by one user with another user's ids, words, paths and files: nothing is there, nothing changes."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memreader.admin import Admin
from memreader.errors import ArchiveError, EntityNotFoundError, InputError, ItemNotFoundError
from memreader.graph.quality import GraphQuality
from memreader.graphs import Graph
from memreader.memory import Memory
from memreader.refining import RefineReport
from memreader.scoped import ScopedMemory
from memreader.testing import HashEmbedder

WORDS = "The zyxquorble is under the stairs."
CHAT = [{"role": "user", "content": WORDS, "id": "m1"}, {"role": "user", "content": "I like tea.", "id": "m2"}]


class Owner:
    """A memory of ana's, with something of every kind, and what it must stay."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory.open(folder / "mem", embedder=HashEmbedder())
        self.file = folder / "house.txt"
        self.file.write_text(f"A house. {WORDS}", encoding="utf-8")
        report = self.memory.add([CHAT, self.file], user_id="ana", session_id="s", agent_id="g", tags=["secret"])
        self.memory.update(report.added[0], {"tags": ["secret", "new"], "entities": ["Ana"]}, user_id="ana")
        self.memory.add({"id": "given", "memory": WORDS, "metadata": {"entities": ["Ana", "Ben"]}}, user_id="ana")
        (gone,) = self.memory.add("gone", user_id="ana").added
        self.memory.delete(gone, user_id="ana")
        self.ids = [*report.added, "given", gone]
        self.folder = folder / "theirs"
        self.memory.dump(self.folder, user_id="ana")
        self.memory.admin.export(folder / "ana.zip", user_id="ana")
        self.archive = folder / "ana.zip"
        self.scratch = folder
        self.before = self.state()

    def state(self) -> Any:
        memory = self.memory
        return (
            memory.get_all(user_id="ana"),
            [memory.history(item_id, user_id="ana") for item_id in self.ids],
            sorted(hit.item.id for hit in memory.search("zyxquorble tea house", user_id="ana", top_k=99, threshold=0)),
            memory.graph.entities(user_id="ana"),
            memory.admin.stats("ana").messages,
            memory.admin.stats("ana").documents,
            memory.add([CHAT, self.file], user_id="ana", session_id="s", agent_id="g").added,
        )


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    owner = Owner(tmp_path_factory.mktemp("isolation"))
    yield owner
    owner.memory.close()


class Stranger:
    """Calls the verbs as another user: of the memory or a scoped one, directly or awaited."""

    def __init__(self, owner: Owner, name: str, *, scoped: bool, awaited: bool) -> None:
        self.memory, self.name = owner.memory, name
        self._scoped, self._awaited = scoped, awaited

    def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        labels = {name: kwargs.pop(name) for name in ("session_id", "agent_id") if name in kwargs}
        target: Any = self.memory
        if self._scoped:
            target = self.memory.scoped(user_id=self.name, **labels)
        else:
            kwargs |= {"user_id": self.name, **labels}
        return self.on(target, verb, *args, **kwargs)

    def on(self, target: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
        if self._awaited:
            return asyncio.run(getattr(target, f"a{verb}")(*args, **kwargs))
        return getattr(target, verb)(*args, **kwargs)


def extract(call: Stranger, owner: Owner) -> None:
    items = call("extract", CHAT, session_id="s")
    assert {item.metadata.user_id for item in items} == {call.name}
    assert not {item.id for item in items} & set(owner.ids)


def add(call: Stranger, owner: Owner) -> None:
    report = call("add", [CHAT, owner.file], session_id="s")
    assert (len(report.added), report.existing, report.replaced) == (3, [], [])
    assert not set(report.added) & set(owner.ids)
    given = {"id": owner.ids[0], "memory": "Mine.", "metadata": {"user_id": "ana", "session_id": "s"}}
    report = call("add", given)
    assert (report.added, report.existing, report.replaced) == ([owner.ids[0]], [], [])
    edited = call("add", [{**CHAT[0], "content": "Edited."}], session_id="s")
    assert len(edited.replaced) == 1
    assert {item.metadata.user_id for item in call("get_all")} == {call.name}


def refine(call: Stranger, owner: Owner) -> None:
    report = call("refine", ids=owner.ids, gates=["hallucination"])
    assert report == RefineReport()
    report = call("refine")
    assert not {*report.left, *report.refined} & set(owner.ids)


def search(call: Stranger, owner: Owner) -> None:
    for filter in (None, {"user_id": "ana"}, {"$or": [{"user_id": "ana"}, {"tags": "secret"}]}, {"id": owner.ids[0]}):
        assert call("search", WORDS, session_id="s", top_k=99, threshold=0, filter=filter) == []
    call("add", "The zyxquorble is mine.")
    (hit,) = call("search", WORDS, top_k=99, threshold=0, filter={"$not": {"tags": "nothing"}})
    assert hit.item.metadata.user_id == call.name


def context(call: Stranger, owner: Owner) -> None:
    assert call("context", WORDS, session_id="s", threshold=0, recall="session") == ""


def recent_messages(call: Stranger, owner: Owner) -> None:
    assert call("recent_messages", session_id="s") == []


def get(call: Stranger, owner: Owner) -> None:
    assert [call("get", item_id) for item_id in owner.ids] == [None] * len(owner.ids)


def get_by_ids(call: Stranger, owner: Owner) -> None:
    assert call("get_by_ids", owner.ids) == [None] * len(owner.ids)


def get_all(call: Stranger, owner: Owner) -> None:
    for filter in (None, {"user_id": "ana"}, {"$not": {"user_id": call.name}}):
        assert call("get_all", filter=filter) == []
        assert call("get_all", session_id="s", agent_id="g", filter=filter, limit=9, offset=0) == []


def update(call: Stranger, owner: Owner) -> None:
    for item_id in owner.ids:
        with pytest.raises(ItemNotFoundError):
            call("update", item_id, "Mine now.")
        with pytest.raises(ItemNotFoundError):
            call("update", item_id, {"id": item_id, "user_id": "ana", "tags": []})


def delete(call: Stranger, owner: Owner) -> None:
    assert call("delete", owner.ids) == []
    assert call("delete", owner.ids[0]) == []


def delete_by_source(call: Stranger, owner: Owner) -> None:
    for source in ({"message_id": "m1"}, {"document": owner.file}, {"document": str(owner.file)}):
        report = call("delete_by_source", **source)
        assert (report.ids, report.messages, report.documents) == ([], 0, 0)
    assert call("delete_by_source", message_id="m1", session_id="s").ids == []


def delete_all(call: Stranger, owner: Owner) -> None:
    for labels in ({}, {"session_id": "s"}, {"agent_id": "g"}, {"session_id": "s", "agent_id": "g"}):
        report = call("delete_all", **labels)
        assert (report.ids, report.messages, report.documents) == ([], 0, 0)


def purge_expired(call: Stranger, owner: Owner) -> None:
    owner.memory.add({"id": "over", "memory": WORDS}, user_id="yara", reconcile=False)
    owner.memory.update("over", {"expires_at": "2020-01-01"}, user_id="yara")
    assert call("purge_expired").ids == {}
    assert owner.memory.get("over", user_id="yara") is not None


def history(call: Stranger, owner: Owner) -> None:
    assert [call("history", item_id) for item_id in owner.ids] == [[]] * len(owner.ids)


def restore(call: Stranger, owner: Owner) -> None:
    for item_id in owner.ids:
        with pytest.raises(ItemNotFoundError):
            call("restore", item_id, 1)


def feedback(call: Stranger, owner: Owner) -> None:
    for item_id in owner.ids:
        for query in (None, "zyxquorble"):
            with pytest.raises(ItemNotFoundError):
                call("feedback", item_id, useful=False, query=query)


def dump(call: Stranger, owner: Owner) -> None:
    path = call("dump", owner.scratch, filename="nothing.json")
    assert json.loads(path.read_bytes()) == []


def load(call: Stranger, owner: Owner) -> None:
    for on_conflict in ("error", "skip", "replace"):
        with pytest.raises(InputError, match="another user's"):
            call("load", owner.folder, on_conflict=on_conflict)
    assert call("get_all") == []
    report = call("load", owner.folder, rescope=True)
    assert (report.added, report.replaced) == ([item.id for item in owner.before[0]], [])
    assert {item.metadata.user_id for item in call("get_all")} == {call.name}
    assert call("load", owner.folder, rescope=True, on_conflict="replace").added == []


def admin_stats(call: Stranger, owner: Owner) -> None:
    stats = call.on(owner.memory.admin, "stats", call.name)
    assert (stats.users, stats.items, stats.messages, stats.documents, stats.entities) == (0, 0, 0, 0, 0)
    assert (stats.by_type, stats.by_status) == ({}, {})


def admin_load(call: Stranger, owner: Owner) -> None:
    with pytest.raises(InputError, match="another user's"):
        call.on(owner.memory.admin, "load", owner.folder, user_id=call.name, on_conflict="replace")


def admin_export(call: Stranger, owner: Owner) -> None:
    file = owner.scratch / "nothing.zip"
    report = call.on(owner.memory.admin, "export", file, user_id=call.name)
    assert (report.users, set(report.counts.values())) == ((), {0})
    with zipfile.ZipFile(file) as archive:
        assert not any(
            b"zyxquorble" in archive.read(name) or b"ana" in archive.read(name) for name in archive.namelist()
        )


def admin_import_(call: Stranger, owner: Owner) -> None:
    with pytest.raises(ArchiveError, match="other users"):
        call.on(owner.memory.admin, "import_", owner.archive, user_id=call.name, on_conflict="replace")


CASES = {
    case.__name__: case
    for case in (
        extract, add, refine, search, context, recent_messages, get, get_by_ids, get_all, update, delete,
        delete_by_source, delete_all, purge_expired, history, restore, feedback, dump, load,
    )
}  # fmt: skip
ADMIN_CASES = {case.__name__.partition("_")[2]: case for case in (admin_stats, admin_load, admin_export, admin_import_)}
NOT_OF_A_USER = {"open", "in_memory", "close", "warm_up", "scoped", "refine_in_background"}


def verbs_of(kind: type) -> list[str]:
    methods = {name: getattr(kind, name) for name in vars(kind) if name[0] != "_"}
    return [name for name, one in methods.items() if inspect.isroutine(one) and not inspect.iscoroutinefunction(one)]


USER_VERBS = [verb for verb in verbs_of(Memory) if verb not in NOT_OF_A_USER]
ADMIN_VERBS = [verb for verb in verbs_of(Admin) if "user_id" in inspect.signature(getattr(Admin, verb)).parameters]


def as_stranger(owner: Owner, case: Callable[[Stranger, Owner], None], name: str, **how: bool) -> None:
    case(Stranger(owner, name, scoped=how.get("scoped", False), awaited=how["awaited"]), owner)
    assert owner.state() == owner.before


def test_every_verb_has_a_case() -> None:
    assert set(USER_VERBS) == set(verbs_of(ScopedMemory)) == set(CASES)
    assert set(ADMIN_VERBS) == set(ADMIN_CASES)
    assert all("user_id" in inspect.signature(getattr(Memory, verb)).parameters for verb in USER_VERBS)


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("scoped", [False, True], ids=["memory", "scoped"])
@pytest.mark.parametrize("verb", USER_VERBS)
def test_another_users_memories_are_absent(owner: Owner, verb: str, scoped: bool, awaited: bool) -> None:
    for name in ("ben", "ANA", "ana ", "an_", "' OR 1=1 --"):
        # Names of their own, since what a stranger adds stays.
        as_stranger(owner, CASES[verb], f"{name}{verb}{scoped}{awaited}", scoped=scoped, awaited=awaited)
    if verb not in ("add", "search", "load"):
        as_stranger(owner, CASES[verb], "ANA", scoped=scoped, awaited=awaited)


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("verb", ADMIN_VERBS)
def test_another_users_memories_are_absent_for_the_store_too(owner: Owner, verb: str, awaited: bool) -> None:
    for name in ("zoe", "ANA", "ana ", "a%"):
        as_stranger(owner, ADMIN_CASES[verb], name, awaited=awaited)


GRAPH_CASES: dict[str, tuple[Any, ...]] = {
    "entities": (),
    "neighbours": ("Ana",),
    "relations": (),
    "mentions": ("Ana",),
    "merge_entities": ("Ana", "Ben"),
    "split_entity": ("Ana",),
    "suggestions": (),
    "quality": (),
    "export_json": ("graph.json",),
    "export_graphml": ("graph.graphml",),
    "export_html": ("graph.html",),
}
"""What a stranger asks of the graph, by verb."""


def test_the_graph_is_the_users(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(owner.scratch)
    graph = owner.memory.graph
    assert [entity.name for entity in graph.entities(user_id="ana")] == ["Ana", "Ben"]
    assert {verb for verb in vars(Graph) if verb[0] != "_"} == {
        name for verb in GRAPH_CASES for name in (verb, f"a{verb}")
    }
    for verb, args in GRAPH_CASES.items():
        if verb in ("merge_entities", "split_entity"):
            with pytest.raises(EntityNotFoundError):
                getattr(graph, verb)(*args, user_id="ANA")
        elif verb.startswith("export_"):
            text = getattr(graph, verb)(*args, user_id="zoe").read_text(encoding="utf-8")
            assert not any(word in text for word in ("Ana", "Ben", "zyxquorble"))
        else:
            assert getattr(graph, verb)(*args, user_id="ANA") in ([], GraphQuality(0, 0.0, (), 0))
    assert [entity.name for entity in graph.entities(user_id="ana")] == ["Ana", "Ben"]


def test_users_in_threads_of_one_memory_are_never_mixed(memory: Memory) -> None:
    begin = threading.Barrier(6)

    def work(user: str) -> None:
        begin.wait()
        for number in range(12):
            (item_id,) = memory.add(f"{user} keeps fact {number}", user_id=user, session_id="s").added
            memory.update(item_id, {"tags": [user], "entities": [user]}, user_id=user)
            hits = memory.search("keeps fact", user_id=user, session_id="s", top_k=99, threshold=0)
            items = [*memory.get_all(user_id=user), *(hit.item for hit in hits), memory.get(item_id, user_id=user)]
            assert {item.metadata.user_id for item in items if item} == {user}
            assert {item.memory.split()[1] for item in items if item} == {user}
            assert [entity.name for entity in memory.graph.entities(user_id=user)] == [user]
            if number % 4 == 3:
                memory.delete(item_id, user_id=user)
            assert len(memory.get_all(user_id=user)) == number + 1 - (number + 1) // 4

    users = [f"user{number}" for number in range(5)]
    with ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(work, user) for user in [*users, "userX"]]:
            future.result()
    assert memory.admin.users() == sorted([*users, "userX"])
    memory.delete_all(user_id="userX")
    assert [len(memory.get_all(user_id=user)) for user in users] == [9] * 5


def test_two_users_with_items_of_one_id_keep_their_own(memory: Memory) -> None:
    for user in ("ana", "ben"):
        memory.add({"id": "same", "memory": f"{user} likes tea"}, user_id=user)
    memory.update("same", "ana likes coffee", user_id="ana")
    assert len(memory.history("same", user_id="ben")) == 1
    assert memory.delete("same", user_id="ana") == ["same"]
    item = memory.get("same", user_id="ben")
    assert item is not None
    assert item.memory == "ben likes tea"
    assert [hit.item.memory for hit in memory.search("tea", user_id="ben")] == ["ben likes tea"]
    assert memory.search("tea", user_id="ana") == []
