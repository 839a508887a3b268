"""Language models for the tests of fine reading: they find the lines in a prompt and make memories of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memreader.ports import Reply

_PASSAGE = re.compile(r"<<<([0-9a-f]{12})\n(.*?)\n\1>>>", re.DOTALL)
_HEAD = re.compile(r"([^:(\n]+) \(([^)\n]*)\): (.*)|(user|assistant|participant)(): (.*)", re.DOTALL)
Script = Callable[[list[dict[str, Any]]], str | Reply]
Answer = str | Reply | BaseException | Callable[["Shown"], str | Reply]


@dataclass(frozen=True)
class ShownLine:
    """One numbered line of a prompt."""

    number: int
    speaker: str
    about: str
    """Role and date, as shown."""
    words: str
    is_new: bool


@dataclass(frozen=True)
class Shown:
    """What a prompt shows."""

    prompt: str
    lines: tuple[ShownLine, ...]

    @property
    def new(self) -> tuple[ShownLine, ...]:
        """The lines that are to be read."""
        return tuple(line for line in self.lines if line.is_new)

    @property
    def new_words(self) -> str:
        """Their words."""
        return "\n".join(line.words for line in self.new)


def shown(messages: Sequence[Mapping[str, Any]]) -> Shown:
    """The lines of the last passage in a prompt."""
    prompt = "\n".join(str(message["content"]) for message in messages)
    body = _PASSAGE.findall(prompt)[-1][1]
    is_new = not body.startswith(("read before:", "前文"))
    rows: list[tuple[str, bool]] = []
    for row in body.split("\n"):
        if row in ("new:", "新内容:", "read before:", "前文（已读过）:"):
            is_new = row in ("new:", "新内容:")
        elif row.startswith("    | "):
            rows[-1] = (f"{rows[-1][0]}\n{row.removeprefix('    | ')}", rows[-1][1])
        else:
            rows.append((row, is_new))
    return Shown(prompt, tuple(_line(row, state) for row, state in rows))


def _line(row: str, is_new: bool) -> ShownLine:
    number, rest = row.removeprefix("[").split("] ", 1)
    head = _HEAD.fullmatch(rest)
    speaker, about, words = [part for part in head.groups() if part is not None] if head else ("", "", rest)
    return ShownLine(int(number), speaker, about, words, is_new)


def memory(value: str, lines: Sequence[int] = (), **fields: Any) -> dict[str, Any]:
    """One memory of a reply, with all that the prompt asks for."""
    asked = {"key": value[:20], "value": value, "memory_type": "UserMemory", "lines": list(lines)}
    return {**asked, "entities": [], "time": None, **fields}


def reply(*memories: Mapping[str, Any], summary: str = "") -> str:
    """A reply as the prompt asks for it."""
    return json.dumps({"memory list": memories, "summary": summary}, ensure_ascii=False)


def echo(seen: Shown) -> str:
    """A memory of each new line, in its words."""
    found = [memory(f"It is said: {line.words}", [line.number], tags=["said"]) for line in seen.new]
    return reply(*found, summary=f"{len(found)} lines")


def echoing(messages: list[dict[str, Any]]) -> str:
    """The same, as what a FunctionChatModel takes."""
    return echo(shown(messages))


def answering(*answers: tuple[str, Answer], otherwise: Answer = echo) -> Script:
    """A model that looks for words in the new lines and gives the answer beside the first that stand there."""

    def answer(messages: list[dict[str, Any]]) -> str | Reply:
        seen = shown(messages)
        chosen = next((answer for words, answer in answers if words in seen.new_words), otherwise)
        if isinstance(chosen, BaseException):
            raise chosen
        return chosen(seen) if callable(chosen) else chosen

    return answer


def chat_of(*words: str, name: str | None = "Ana", time: str | None = "2023-05-08T10:00:00") -> list[dict[str, Any]]:
    """Messages of one user, one for each of `words`."""
    said = [{"role": "user", "content": one} for one in words]
    return [message | ({"name": name} if name else {}) | ({"chat_time": time} if time else {}) for message in said]


def twelve_rooms() -> list[str]:
    """Twelve statements no two of which are the same fact."""
    pets = "otter heron ferret badger lizard magpie tortoise hamster parrot poodle weasel gecko".split()
    return [f"My {pet} lives in room {number} of the old house." for number, pet in enumerate(pets, start=1)]


def texts(items: Iterable[Any], *, fast: bool | None = None) -> list[str]:
    """The words of items; only those that are, or are not, still to be read by a model."""
    return [item.memory for item in items if fast is None or item.metadata.is_fast is fast]


@dataclass
class Changing:
    """A script that can be exchanged under a model."""

    script: Script

    def __call__(self, messages: list[dict[str, Any]]) -> str | Reply:
        return self.script(messages)
