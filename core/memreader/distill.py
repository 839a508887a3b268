"""Passages through a model: at once or one after another, through the gates, and handed on in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from memreader.calling import Caller, Models
from memreader.extract.fast import first_sentence
from memreader.extract.fine import Carried, FineOptions, Found, PassageReading, read_passage
from memreader.extract.passage import Passage, render_passage
from memreader.gates import Completion, Lacking, Verdict, check, complete, rewrite
from memreader.normalize.language import detect_language
from memreader.options import Gate, ModelOptions, ReadOptions
from memreader.plan import Job, Plan, Wave
from memreader.ports import ChatModel
from memreader.prompts import Prompts, PromptTexts
from memreader.reconcile import Judgement, Statement
from memreader.reconcile import judge as judge_pairs
from memreader.types import Dropped, Failure, Progress

Take = Callable[[int, PassageReading], None]
"""Called with the number of a passage and what was read in it."""


class ModelSettings(TypedDict, total=False):
    """The language models of a reader, and how they are asked; see `MemReader`."""

    llm: ChatModel | None
    general_llm: ChatModel | None
    preference_llm: ChatModel | None
    image_llm: ChatModel | None
    document_llm: ChatModel | None
    prompts: PromptTexts | None
    instructions: str
    model_options: ModelOptions | None


@dataclass(frozen=True, slots=True)
class Distiller:
    """Reads passages with the models that are set."""

    models: Models
    options: FineOptions
    model_options: ModelOptions
    gates: tuple[Gate, ...] = ()
    carry: bool = False

    def caller(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> Caller:
        """Return who makes the calls of one verb; a limit that is given takes the place of the options'."""
        limits = self.model_options
        return Caller(
            self.models,
            replace(
                limits,
                max_calls=limits.max_calls if max_calls is None else max_calls,
                max_tokens=limits.max_tokens if max_tokens is None else max_tokens,
            ),
        )

    def job(
        self,
        passages: Sequence[Passage],
        caller: Caller,
        take: Take,
        *,
        unwanted: Sequence[str] = (),
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Job[None]:
        """Read the passages and hand on what was read in them, in their order; what is done when it ends, is handed on.

        Args:
            passages: Of one or several conversations and documents.
            caller: Makes the calls.
            take: Gets each reading; may block.
            unwanted: Names that are not worth a memory on their own.
            progress: Called with "refine", passages done, and all of them.
            stopped: When it says so, no further passage is begun.
        """
        if not passages:
            return
        done = 0

        def counted(place: int, reading: PassageReading) -> None:
            nonlocal done
            take(place, reading)
            done += 1
            if progress is not None:
                progress("refine", done, len(passages))

        if progress is not None:
            progress("refine", 0, len(passages))
        if self.carry:
            yield from self._one_by_one(passages, caller, counted, stopped, unwanted)
            return

        def plans() -> Iterator[Plan[PassageReading]]:
            for passage in passages:
                if stopped():
                    return
                yield self.plan(passage, unwanted=unwanted)

        yield from in_order(Wave(plans(), caller), counted)

    def plan(self, passage: Passage, carried: str = "", unwanted: Sequence[str] = ()) -> Plan[PassageReading]:
        """Return what is read in a passage, after the gates."""
        language = detect_language(passage.text)
        reading = yield from read_passage(
            passage, language=language, options=self.options, carried=carried, unwanted=unwanted
        )
        for gate in self.gates:
            reading = yield from self._gated(reading, gate)
        return reading

    def _one_by_one(
        self,
        passages: Sequence[Passage],
        caller: Caller,
        take: Take,
        stopped: Callable[[], bool],
        unwanted: Sequence[str],
    ) -> Job[None]:
        carried, group = Carried(), None
        for place, passage in enumerate(passages):
            if stopped():
                return
            if passage.group != group:
                carried, group = Carried(), passage.group
            done = yield Wave([self.plan(passage, carried.text, unwanted)], caller)
            reading: PassageReading = done[1] if done is not None else PassageReading(passage, unread=passage.fresh)
            carried.add(reading)
            take(place, reading)

    def _gated(self, reading: PassageReading, gate: Gate) -> Plan[PassageReading]:
        if not reading.found:
            return reading
        verdicts = yield from self.verdicts(
            [found.candidate.text for found in reading.found],
            gate,
            evidence=render_passage(reading.passage, reading.language),
            language=reading.language,
        )
        kept = [
            _rewritten(found, verdict) for found, verdict in zip(reading.found, verdicts, strict=True) if verdict.keep
        ]
        dropped = [
            Dropped(verdict.text, f"{gate}: {verdict.reason}" if verdict.reason else gate)
            for verdict in verdicts
            if not verdict.keep
        ]
        unchecked = reading.unchecked
        if all(verdict.failed for verdict in verdicts):
            reason = f"no verdict on {len(verdicts)} memories, which stay as they were: {verdicts[0].reason}"
            unchecked = Failure("NoVerdict", f"{gate}: {reason}")
        return replace(reading, found=tuple(kept), dropped=(*reading.dropped, *dropped), unchecked=unchecked)

    def verdicts(self, memories: Sequence[str], gate: Gate, *, evidence: str, language: str) -> Plan[list[Verdict]]:
        """Return what a gate says about each memory, in order."""
        judge = rewrite if gate == "rewrite" else check
        return (
            yield from judge(
                memories,
                evidence=evidence,
                language=language,
                prompts=self.options.prompts,
                instructions=self.options.instructions,
            )
        )

    def completion(self, memories: Sequence[Lacking], *, evidence: str, language: str) -> Plan[Completion]:
        """Return what a model gives of what each memory lacks."""
        options = self.options
        plan = complete(
            memories, evidence=evidence, language=language, prompts=options.prompts, instructions=options.instructions
        )
        return (yield from plan)

    def judgement(self, pairs: Sequence[tuple[Statement, Statement]], *, language: str) -> Plan[Judgement]:
        """Return what becomes of each pair of a new statement and an old one, in order."""
        options = self.options
        plan = judge_pairs(pairs, language=language, prompts=options.prompts, instructions=options.instructions)
        return (yield from plan)


def distiller_of(settings: ModelSettings, options: ReadOptions) -> Distiller:
    """Return what reads with the models of the settings.

    Raises:
        TypeError: There is no such setting.
    """
    unknown = set(settings) - set(ModelSettings.__annotations__)
    if unknown:
        known = ", ".join(ModelSettings.__annotations__)
        raise TypeError(f"unexpected argument {sorted(unknown)[0]!r}. Settings of models are: {known}")
    instructions = settings.get("instructions") or ""
    if not isinstance(instructions, str):
        raise TypeError(f"instructions is a text, got {type(instructions).__name__}")
    models = Models(
        settings.get("llm"),
        settings.get("general_llm"),
        settings.get("preference_llm"),
        settings.get("image_llm"),
        settings.get("document_llm"),
    )
    fine = FineOptions(Prompts(settings.get("prompts")), instructions, options.prompt)
    return Distiller(models, fine, settings.get("model_options") or ModelOptions(), options.gates, options.carry)


def in_order(wave: Wave[PassageReading], take: Take) -> Job[None]:
    """Hand on the results of a wave in the order of its plans, as soon as all before have come.

    Ended early (Ctrl-C, cancellation), it hands on those that have finished before it ends.
    """
    waiting: dict[int, PassageReading] = {}
    following = 0
    try:
        while (done := (yield wave)) is not None:
            waiting[done[0]] = done[1]
            while following in waiting:
                take(following, waiting.pop(following))
                following += 1
    finally:
        while wave.left:
            waiting.update([wave.left.popitem()])
        for place in sorted(waiting):
            take(place, waiting[place])


def _rewritten(found: Found, verdict: Verdict) -> Found:
    if verdict.text == found.candidate.text:
        return found
    return replace(found, candidate=replace(found.candidate, text=verdict.text, key=first_sentence(verdict.text)))
