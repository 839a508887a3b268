"""The prompts of all tasks: ours, or what the caller puts in their place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from memreader.errors import PromptError
from memreader.identity import digest
from memreader.prompts.languages import language_name
from memreader.prompts.template import Places, Template, parse_template

PromptTexts: TypeAlias = "Mapping[str, str | Path | Mapping[str, str | Path]]"
"""Task -> a text or a file of one, for both languages or per language."""

LANGUAGES = ("en", "zh")
"""That prompts are written in; a text in any other language is read with the English one."""

_CHAT = Places(("conversation",), ("instructions", "carried", "unwanted", "language"))
_GATE = Places(("conversation", "memories"), ("instructions", "language"))
TASKS: Mapping[str, Places] = MappingProxyType(
    {
        "chat": _CHAT,
        "strategy": _CHAT,
        "document": Places(("document",), ("title", "instructions", "carried", "unwanted", "language")),
        "rewrite": _GATE,
        "hallucination": _GATE,
        "complete": _GATE,
        "reconcile": Places(("pairs",), ("instructions", "language")),
    }
)
"""What is asked, and the placeholders of each."""

_ONE_LINE = ("title", "language")
_LONGEST_LINE = 300


class Prompts:
    """Renders the prompt of a task. Immutable.

    Args:
        overrides: Task -> a text, a `pathlib.Path` of one (UTF-8), or either per language ("en", "zh"). A string is
            always the text itself. What is not named stays ours.

    Raises:
        PromptError: A task or language that isn't known, a file that can't be read, or a text with an unknown
            placeholder or without a required one (see `TASKS`).

    >>> prompts = Prompts({"chat": "Note in ${language} what they say: ${conversation}"})
    >>> prompts.render("chat", "ja", conversation="...")
    'Note in Japanese what they say: ...'
    """

    def __init__(self, overrides: PromptTexts | None = None) -> None:
        templates = {(task, language): _shipped(task, language) for task in TASKS for language in LANGUAGES}
        for task, override in (overrides or {}).items():
            if task not in TASKS:
                raise PromptError("no such task", task=str(task), allowed=tuple(TASKS))
            for language, text in _by_language(task, override).items():
                templates[task, language] = parse_template(text, TASKS[task], task=task, language=language)
        self._templates = templates

    @property
    def fingerprint(self) -> str:
        """Equal for two of them exactly if all their texts are."""
        return self.fingerprint_of(*TASKS)

    def fingerprint_of(self, *tasks: str) -> str:
        """Return what is equal exactly if the texts of these tasks are, in every language."""
        return digest(
            [(task, language, self._template(task, language).text) for task in tasks for language in LANGUAGES]
        )

    def render(self, task: str, language: str, /, **values: str) -> str:
        """Return the prompt of a task with its placeholders filled in, in one pass: what a value holds stays text.

        A paragraph goes where all its placeholders are optional and have nothing to say. `instructions` that the
        text has no place for are added at its end. `title` and `language` are made one line.

        Args:
            task: One of `TASKS`.
            language: ISO 639-1 code of the text that is read: "zh" takes the Chinese prompt, any other the English.
            values: Of the placeholders; one that is left out is empty, but for `language`: the English name of it.

        Raises:
            PromptError: No such task or placeholder, or a required value is missing.
        """
        template = self._template(task, language)
        places = template.places
        for name in values:
            if name not in places.allowed:
                raise PromptError(f"there is no placeholder ${{{name}}}", **_about(task, language, name))
        for name in places.required:
            if name not in values:
                raise PromptError(f"a value for ${{{name}}} is missing", **_about(task, language, name))
        filled = {"language": language_name(language)} | values
        shown = {
            name: _line(filled.get(name, "")) if name in _ONE_LINE else filled.get(name, "") for name in places.allowed
        }
        text = template.fill(shown)
        if shown["instructions"].strip() and "instructions" not in template.names:
            return f"{text}\n\n{shown['instructions']}"
        return text

    def _template(self, task: str, language: str) -> Template:
        if task not in TASKS:
            raise PromptError("no such task", task=task, allowed=tuple(TASKS))
        return self._templates[task, language if language in LANGUAGES else "en"]


@cache
def _shipped(task: str, language: str) -> Template:
    text = files("memreader.prompts").joinpath(task, f"{language}.md").read_text("utf-8")
    return parse_template(text, TASKS[task], task=task, language=language)


def _by_language(task: str, override: object) -> dict[str, str]:
    given = override if isinstance(override, Mapping) else dict.fromkeys(LANGUAGES, override)
    texts: dict[str, str] = {}
    for language, text in given.items():
        if language not in LANGUAGES:
            raise PromptError("no such language", task=task, language=str(language), allowed=LANGUAGES)
        texts[language] = _text(task, language, text)
    return texts


def _text(task: str, language: str, given: object) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Path):
        problem = f"a prompt is a string or a pathlib.Path, not {type(given).__name__}"
        raise PromptError(problem, task=task, language=language)
    try:
        return given.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the file {given.name!r} can't be read as UTF-8 text ({type(error).__name__})"
        raise PromptError(problem, task=task, language=language) from error


def _about(task: str, language: str, placeholder: str) -> dict[str, Any]:
    return {"task": task, "language": language, "placeholder": placeholder, "allowed": TASKS[task].allowed}


def _line(value: str) -> str:
    return " ".join(value.split())[:_LONGEST_LINE]
