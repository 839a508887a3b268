"""What holds of a memory whatever was done to it, asked of its tables and of its verbs."""

from __future__ import annotations

import json
from typing import Any

from all_verbs import EMBEDDER, MARKS, QUESTIONS, SESSIONS, USERS, World
from left_behind import left_of
from memreader import Memory
from memreader.recall import RecallOptions
from memreader.spelling import entity_key
from stored import table

WEIGHT = RecallOptions().feedback_weight
DAY_ASKED = "2024-05-15"


def rows_of(memory: Memory, user: str) -> list[dict[str, Any]]:
    names = "id item_id session_id visibility status memory metadata expires".split()
    rows = table(memory, f"SELECT {', '.join(names)} FROM items WHERE user_id = ? ORDER BY id", user)
    behind = table(memory, "SELECT item, by_item, kind FROM settled")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for row in found:
        row["metadata"] = json.loads(row["metadata"])
        row["behind"] = [(by, kind) for item, by, kind in behind if item == row["id"]]
    return found


def check_lists(memory: Memory, user: str, now: float) -> None:
    """Listing and search show what stands, and in a session what was stated in it; nobody else's."""
    every = rows_of(memory, user)
    rows = [row for row in every if row["expires"] is None or row["expires"] > now]
    stands = [row for row in rows if row["status"] != "pending" and not row["behind"]]
    listed = [row for row in stands if row["status"] == "activated" or "valid_until" not in row["metadata"]]
    items = memory.get_all(user_id=user)
    assert [item.id for item in items] == [row["item_id"] for row in listed], "what is listed"
    assert {item.metadata.user_id for item in items} <= {user}, "another user's"
    active = [row for row in stands if row["status"] == "activated"]
    for session in SESSIONS:
        wanted = {row["item_id"] for row in active if row["visibility"] != "session" or row["session_id"] == session}
        hits = memory.search(QUESTIONS[0], user_id=user, session_id=session, top_k=99, threshold=0)
        shown = {one for hit in hits for one in (hit.item.id, *hit.raw)}
        assert wanted <= shown, f"search in {session} misses {wanted - shown}"
        for row in [row for row in every if row["item_id"] in shown - wanted]:
            assert row in rows, f"expired, but found: {row}"
            assert row["status"] == "archived", f"not to be found: {row}"
            assert row["session_id"] == (session or ""), f"behind another, but found: {row}"
            assert [kind for _, kind in row["behind"]] == ["merge"], f"superseded, but found: {row}"
        for hit in hits:
            assert abs(hit.parts.get("feedback", 0)) <= WEIGHT + 1e-6, "feedback moves more than its weight"
            assert 0 <= hit.score <= 1
            assert hit.item == memory.get(hit.item.id, user_id=user), "found in another version"


def check_filters(memory: Memory, user: str, now: float) -> None:
    """A filter shows those of the items for which it holds; `as_of` those that were so then."""
    rows = [row for row in rows_of(memory, user) if row["expires"] is None or row["expires"] > now]
    for value in ("archived", "activated"):
        items = memory.get_all(user_id=user, filter={"status": value})
        assert [item.id for item in items] == [row["item_id"] for row in rows if row["status"] == value], value
    by_id = {row["item_id"]: row for row in rows if row["status"] != "pending"}
    for hit in memory.search(QUESTIONS[0], user_id=user, top_k=99, threshold=0, as_of=DAY_ASKED):
        for one in (hit.item.id, *hit.raw):
            known = by_id[one]["metadata"]
            begins = known.get("memory_time") or known["created_at"]
            assert begins[:10] <= DAY_ASKED < known.get("valid_until", "9999")[:10], f"not so on {DAY_ASKED}: {known}"


def check_rows(memory: Memory, user: str) -> None:
    """The tables, the graph and the history say of each item what its metadata say."""
    rows = rows_of(memory, user)
    by_key = {row["id"]: row for row in rows}
    assert memory.admin.stats(user).items == len(rows)
    for row in rows:
        known = row["metadata"]
        assert row["status"] == known.get("status", "activated"), f"status of {row}"
        assert row["session_id"] == known.get("session_id"), f"session of {row}"
        assert not row["behind"] or row["status"] == "archived", f"behind another, but {row}"
        for by in [by for by, kind in row["behind"] if kind == "merge"]:
            assert "merge" not in [kind for _, kind in by_key[by]["behind"]], f"behind one that is behind: {row}"
        check_graph(memory, row)
        check_history(memory, user, row)
    orphans = "SELECT key FROM entities WHERE user_id = ? AND id NOT IN (SELECT entity FROM mentions)"
    assert table(memory, orphans, user) == [], "an entity that nothing mentions"


def check_graph(memory: Memory, row: dict[str, Any]) -> None:
    query = "SELECT key FROM mentions JOIN entities ON entities.id = entity WHERE item = ?"
    mentioned = {key for (key,) in table(memory, query, row["id"])}
    names = () if row["status"] == "pending" else row["metadata"].get("entities", ())
    assert mentioned == {entity_key(name) for name in names}, f"the graph says {mentioned} of {row}"


def check_history(memory: Memory, user: str, row: dict[str, Any]) -> None:
    versions = memory.history(row["item_id"], user_id=user)
    assert versions[-1].item == memory.get(row["item_id"], user_id=user), f"history ends otherwise: {row}"
    assert versions[-1].version == row["metadata"].get("version", 1)
    since = max((at for at, one in enumerate(versions) if one.event == "delete"), default=-1)
    numbers = [one.version for one in versions[since + 1 :]]
    assert numbers == sorted(set(numbers)), f"versions {numbers} of {row}"


def check_messages(memory: Memory, user: str) -> None:
    """What was said is kept only as long as something is made of it."""
    query = (
        "SELECT message_id, content FROM messages WHERE user_id = ? AND content <> '' AND NOT EXISTS (SELECT 1 FROM "
        "item_sources JOIN items ON items.id = item WHERE item_sources.source_key = messages.source_key "
        "AND items.user_id = messages.user_id)"
    )
    left = table(memory, query, user)
    assert not left, f"words without an item: {left}"


def check_ids(world: World, memory: Memory) -> None:
    """Another user's id is nobody's."""
    for user, other in (USERS, USERS[::-1]):
        foreign = [one for one in world.ids[user] if one not in world.ids[other]]
        assert not any(memory.get_by_ids(foreign, user_id=other))


def answers(memory: Memory) -> dict[str, Any]:
    """All that verbs say of a memory."""
    return {user: _lists(memory, user) | _hits(memory, user) for user in USERS}


def _lists(memory: Memory, user: str) -> dict[str, Any]:
    ids, graph, stats = [row["item_id"] for row in rows_of(memory, user)], memory.graph, memory.admin.stats(user)
    filters: list[dict[str, Any]] = [{"status": "archived"}, {"entities": "Bob"}, {"lifetime": "session"}]
    return {
        "items": memory.get_by_ids(ids, user_id=user),
        "listed": [[item.id for item in memory.get_all(user_id=user, session_id=one)] for one in SESSIONS],
        "filtered": [[item.id for item in memory.get_all(user_id=user, filter=one)] for one in filters],
        "waits": [item.id for item in memory.review.pending(user_id=user)],
        "history": {one: memory.history(one, user_id=user) for one in ids},
        "entities": [(one.key, one.items) for one in graph.entities(user_id=user)],
        "relations": graph.relations(user_id=user),
        "suggestions": graph.suggestions(user_id=user),
        "said": [memory.recent_messages(user_id=user, session_id=session) for session in SESSIONS],
        "context": memory.context("Bob", user_id=user, threshold=0),
        "counts": (stats.items, stats.messages, stats.documents, stats.useful, stats.useless, stats.by_status),
    }


def _hits(memory: Memory, user: str) -> dict[str, Any]:
    asked: list[dict[str, Any]] = [{}, {"session_id": "one"}, {"as_of": DAY_ASKED}, {"filter": {"entities": "Bob"}}]
    return {
        f"{question} {options}": {
            hit.item.id: (hit.score, dict(hit.parts), hit.raw)
            for hit in memory.search(question, user_id=user, top_k=30, threshold=0, **options)
        }
        for question in QUESTIONS
        for options in asked
    }


def differing(one: Any, other: Any, at: str = "") -> list[str]:
    """Where two answers differ; a sum of float32 depends in its last digits on how many rows a block has."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        return [found for key in keys for found in differing(one.get(key), other.get(key), f"{at}/{key}")]
    if isinstance(one, float) and isinstance(other, float):
        return [] if abs(one - other) <= 2e-5 else [f"{at}: {one} != {other}"]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for place, (mine, theirs) in pairs for found in differing(mine, theirs, f"{at}/{place}")]
    return [] if one == other else [f"{at}: {one!r} != {other!r}"]


def check_words(world: World) -> None:
    """After a purge no file holds a word that no item, and no version of one that is there, has."""
    memory = world.memories[0]
    queries = (
        "SELECT memory || metadata FROM items",
        "SELECT content FROM messages",
        "SELECT text FROM documents",
        "SELECT key || entity FROM aliases WHERE item IS NULL",
        "SELECT history.memory || history.metadata FROM history JOIN items USING (user_id, item_id)",
    )
    kept = " ".join(str(words) for query in queries for (words,) in table(memory, query)).lower()
    for each in world.memories:
        each.admin.purge()
    if memory.admin.purge().complete:
        gone = [mark for mark in MARKS if mark not in kept]
        assert left_of(world.path, gone) == set(), "words that are gone are in a file"


def check(world: World, *, deep: bool = False) -> None:
    """All laws that cost little; with `deep`, all."""
    for memory in world.memories:
        for user in USERS:
            check_lists(memory, user, world.clock())
            check_filters(memory, user, world.clock())
    memory = world.memories[0]
    for user in USERS:
        check_rows(memory, user)
        check_messages(memory, user)
    check_ids(world, memory)
    if deep:
        check_elsewhere(world)


def check_elsewhere(world: World) -> None:
    """Another process, an index made anew, and what imports an archive give the same answers."""
    memory, other = world.memories
    known = answers(memory)
    assert not (found := differing(known, answers(other))), f"another process: {found[:3]}"
    memory._store._indexes.resident.clear()
    assert not (found := differing(known, answers(memory))), f"an index made anew: {found[:3]}"
    path = world.folder / "copy.zip"
    memory.admin.export(path)
    with Memory.in_memory(embedder=EMBEDDER) as copy:
        copy.admin.import_(path)
        assert not (found := differing(known, answers(copy))), f"an archive: {found[:3]}"
    path.unlink()
