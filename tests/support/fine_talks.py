"""Six made-up conversations (`tests/core/golden/fine_talks.json`), and a model that finds what is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fine_replies import Script, Shown, answering, memory, reply
from memreader.ports import Reply

_FILE = Path(__file__).parents[1] / "core" / "golden" / "fine_talks.json"


@dataclass(frozen=True)
class Talk:
    """A conversation, and the facts in it, each with words of the line that says it."""

    messages: list[Mapping[str, Any]]
    facts: list[tuple[str, Mapping[str, Any]]]
    failing: str = ""
    """Words of the line whose window gets no answer."""
    cut: str = ""
    """Words of the line whose window gets an answer that breaks off after its first memory."""

    def script(self, *, mended: bool = False) -> Script:
        """A model that finds the facts whose lines it is shown, those of the window before too."""

        def found(seen: Shown) -> str:
            held = [([line.number for line in seen.lines if words in line.words], fact) for words, fact in self.facts]
            return reply(*(memory(**fact, lines=lines) for lines, fact in held if lines), summary=seen.new[0].words)

        def broken(seen: Shown) -> Reply:
            whole = found(seen)
            return Reply(whole[: whole.index('}, {"key"') + 12], truncated=True)

        bad = [(self.failing, "I'm sorry, but I can't help with that."), (self.cut, broken)]
        return answering(*((words, answer) for words, answer in bad if words and not mended), otherwise=found)


TALKS = {name: Talk(**talk) for name, talk in json.loads(_FILE.read_text(encoding="utf-8")).items()}
