"""Asks mem0's Memory what it finds. Run by the Python of `make bench-env PEER=mem0`; knows nothing of memreader.

Reads JSON objects from stdin, one a line: {"id", "text", "vector"} is added without a language model (`infer=False`);
{"query", "vector", "k"} is searched, and the ids are answered as a JSON list in one line.
"""

import json
import sys
import tempfile
from pathlib import Path

from mem0 import Memory  # type: ignore[import-not-found]

USER = "user"


class LookUp:
    """Gives the vector that was sent with a text; mem0 asks for no other."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        return self.vectors[text]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


def main() -> None:
    """Read, do, write."""
    answers, sys.stdout = sys.stdout, sys.stderr  # Whatever mem0 prints is no answer.
    with tempfile.TemporaryDirectory() as folder:
        embedder, memory = LookUp(), None
        for line in sys.stdin:
            task = json.loads(line)
            text = task.get("query", task.get("text"))
            embedder.vectors[text] = task["vector"]
            if memory is None:
                memory = made(Path(folder), len(task["vector"]))
                memory.embedding_model = embedder
            if "id" in task:
                memory.add(text, user_id=USER, infer=False, metadata={"turn": task["id"]})
            else:
                found = memory.search(text, filters={"user_id": USER}, top_k=task["k"], threshold=0.0)["results"]
                print(json.dumps([hit["metadata"]["turn"] for hit in found]), file=answers, flush=True)
            embedder.vectors.clear()
        if memory is not None:
            memory.close()


def made(folder: Path, dimension: int) -> Memory:
    """Return an empty memory over local Qdrant."""
    place = {"path": str(folder / "qdrant"), "embedding_model_dims": dimension, "on_disk": False}
    key = {"api_key": "none"}  # Of a service that is never called.
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": place},
            "embedder": {"provider": "openai", "config": key},
            "llm": {"provider": "openai", "config": key},
            "history_db_path": str(folder / "history.db"),
        }
    )


if __name__ == "__main__":
    main()
