"""One prompt text with its places to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memreader.errors import PromptError

_PLACE = re.compile(r"\$\$|\$\{([^{}\n]*)(\}?)")
_GAP = re.compile(r"(\n(?:[^\S\n]*\n)+)")


@dataclass(frozen=True, slots=True)
class Places:
    """Which placeholders a prompt must have, and which it may have beside them."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """Both."""
        return self.required + self.optional


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value goes."""

    name: str


@dataclass(frozen=True, slots=True)
class Template:
    """A checked prompt text."""

    text: str
    """As it was given, line ends made one kind."""
    pieces: tuple[tuple[str | Place, ...], ...]
    """Paragraphs and the gaps between them, in turn."""
    places: Places

    @property
    def names(self) -> frozenset[str]:
        """The placeholders it has."""
        return frozenset(part.name for piece in self.pieces for part in piece if isinstance(part, Place))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with every placeholder replaced, in one pass: what a value holds stays as it is.

        A paragraph whose placeholders are all optional and have all nothing to say goes, with what it says around them.

        Args:
            values: One for each placeholder; "" has nothing to say.
        """
        out: list[str] = []
        for number in range(0, len(self.pieces), 2):
            paragraph = self.pieces[number]
            if self._is_idle(paragraph, values):
                continue
            if out:
                out += _filled(self.pieces[number - 1], values)
            out += _filled(paragraph, values)
        return "".join(out)

    def _is_idle(self, paragraph: Sequence[str | Place], values: Mapping[str, str]) -> bool:
        names = [part.name for part in paragraph if isinstance(part, Place)]
        return bool(names) and all(name in self.places.optional and not values[name].strip() for name in names)


def _filled(piece: Sequence[str | Place], values: Mapping[str, str]) -> list[str]:
    return [values[part.name] if isinstance(part, Place) else part for part in piece]


def parse_template(text: str, places: Places, *, task: str, language: str) -> Template:
    r"""Return `text` as a template: `${name}` is a placeholder, `$$` a dollar sign, any other `$` itself.

    Args:
        text: Paragraphs with blank lines between them; spaces at both ends are taken off.
        places: What must and may stand in it.
        task: For the error.
        language: For the error.

    Raises:
        PromptError: A placeholder is unknown, not closed, or a required one is missing.

    >>> greeting = parse_template("Hi ${name}, that is $$5.\n\nP.S. ${more}", Places(("name",), ("more",)),
    ...                           task="greet", language="en")
    >>> greeting.fill({"name": "${more}", "more": ""})
    'Hi ${more}, that is $5.'
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    pieces = tuple(_parts(piece, places, task, language) for piece in _GAP.split(text))
    template = Template(text, pieces, places)
    for name in places.required:
        if name not in template.names:
            raise PromptError(
                f"the placeholder ${{{name}}} is missing (a prompt in a file is given as pathlib.Path)",
                task=task,
                language=language,
                placeholder=name,
                allowed=places.allowed,
            )
    return template


def _parts(piece: str, places: Places, task: str, language: str) -> tuple[str | Place, ...]:
    parts: list[str | Place] = []
    end = 0
    for match in _PLACE.finditer(piece):
        parts.append(piece[end : match.start()])
        end = match.end()
        if match[0] == "$$":
            parts.append("$")
            continue
        name = match[1].strip()
        if not match[2] or name not in places.allowed:
            problem = "is unknown" if match[2] else "has no closing brace"
            raise PromptError(
                f"the placeholder ${{{name[:40]}{match[2]} {problem} (write $${{ for a plain ${{)",
                task=task,
                language=language,
                placeholder=name,
                allowed=places.allowed,
            )
        parts.append(Place(name))
    parts.append(piece[end:])
    return tuple(part for part in parts if part)
