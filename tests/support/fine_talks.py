"""Six made-up conversations, and what a model would find in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fine_replies import Script, Shown, answering, memory, reply
from memreader.ports import Reply

Told = Mapping[str, Any]


@dataclass(frozen=True)
class Talk:
    """A conversation, and the facts in it, each with words of the line that says it."""

    messages: tuple[Told, ...]
    facts: tuple[tuple[str, Told], ...]
    failing: str = ""
    """Words of the line whose window gets no answer."""
    cut: str = ""
    """Words of the line whose window gets an answer that breaks off after its first memory."""

    def script(self, *, mended: bool = False) -> Script:
        """A model that finds the facts whose lines it is shown, those of the window before too."""

        def found(seen: Shown) -> str:
            shown = [(self._lines(seen, words), fact) for words, fact in self.facts]
            return reply(*(memory(**fact, lines=lines) for lines, fact in shown if lines), summary=seen.new[0].words)

        def broken(seen: Shown) -> Reply:
            whole = found(seen)
            return Reply(whole[: whole.index('}, {"key"') + 12], truncated=True)

        bad = [(self.failing, "I'm sorry, but I can't help with that."), (self.cut, broken)]
        return answering(*((words, answer) for words, answer in bad if words and not mended), otherwise=found)

    @staticmethod
    def _lines(seen: Shown, words: str) -> Sequence[int]:
        return [line.number for line in seen.lines for part in words.split("|") if part in line.words]


def _told(who: str, time: str, *words: str) -> list[dict[str, Any]]:
    """Messages of a speaker ("user", "assistant", or a name and a role: "Mei/participant") from a time on."""
    name, _, role = who.partition("/")
    known = {"role": role or who, "chat_time": time} | ({"name": name} if role else {})
    return [{**known, "content": one} for one in words]


def _fact(value: str, **more: Any) -> dict[str, Any]:
    return {"value": value, "key": value.split(" ", 1)[0], **more}


TALKS = {
    "moving": Talk(
        (
            *_told("Nora/user", "2023-05-08T10:00:00", "I moved to Porto yesterday.", "My sister Eva helped me carry the piano."),
            *_told("assistant", "2023-05-08T10:01:00", "How is the new flat?"),
            *_told("Nora/user", "2023-05-08T10:02:00", "It has 3 rooms and costs 850 euros a month.", "Next Friday the kitchen comes."),
            *_told("Nora/user", "2023-06-20T09:00:00", "The kitchen came late, last week.", "I don't eat fish, so the grill is for vegetables."),
        ),
        (
            ("I moved to Porto", _fact("Nora moved to Porto yesterday.", entities=["Nora", "Porto"], relations=[["Nora", "lives in", "Porto"]], tags=["home"])),
            ("sister Eva", _fact("Nora's sister Eva helped her carry the piano.", entities=["Eva", "Nora"], relations=[["Eva", "is sister of", "Nora"]])),
            ("It has 3 rooms", _fact("Nora's flat in Porto has 3 rooms.", tags="home, flat")),
            ("It has 3 rooms", _fact("Nora's flat costs 850 euros a month.")),
            ("Next Friday", _fact("Nora's kitchen comes next Friday.")),
            ("came late", _fact("Nora's kitchen came late, last week.", key=None)),
            ("don't eat fish", _fact("Nora doesn't eat fish.", memory_type="UserMemory")),
        ),
    ),
    "advice": Talk(
        (
            *_told("user", "2024-01-15T20:00:00", "I sleep badly lately, what can I do?"),
            *_told("assistant", "2024-01-15T20:01:00", "You may drink too much coffee. Stop at noon, and walk every evening."),
            *_told("user", "2024-01-15T20:02:00", "I will stop at noon. But I can't walk, my knee was operated last Monday."),
            *_told("assistant", "2024-01-15T20:03:00", "Then ask your doctor about swimming."),
            *_told("user", "2024-01-15T20:04:00", "Answer shorter from now on, please.", "My doctor is called Ruth Stein."),
        ),
        (
            ("I sleep badly", _fact("The user sleeps badly lately.")),
            ("too much coffee", _fact("The user drinks too much coffee.")),
            ("too much coffee", _fact("The assistant advised to walk every evening.", memory_type="LongTermMemory")),
            ("I will stop at noon", _fact("The user will drink no coffee after noon.")),
            ("I will stop at noon", _fact("The user's knee was operated last Monday.", entities=["knee"])),
            ("Answer shorter", _fact("The user wants short answers in this chat.", lifetime="short", entities=["answers"])),
            ("Ruth Stein", _fact("The user's doctor is called Ruth Stein.", entities=["Ruth Stein"])),
        ),
        cut="too much coffee",
    ),
    "team": Talk(
        (
            *_told("Mei/participant", "2025-03-03T09:00:00+01:00", "The release is on 14 March.", "Tom writes the notes."),
            *_told("Tom/participant", "2025-03-03T09:05:00+01:00", "I can't, I'm away until Thursday. Ask Lin."),
            *_told("Mei/participant", "2025-03-03T09:06:00+01:00", "Fine, Lin writes them. Budget is 12,500 dollars.", "No wait, 13,500 dollars."),
            *_told("Lin/participant", "2025-03-04T11:00:00+01:00", "I'll have a draft tomorrow.", "The tests must run on Windows, not on macOS."),
        ),
        (
            ("14 March", _fact("Mei said that the release is on 14 March.", time="2025-03-14", memory_type="LongTermMemory")),
            ("Tom writes", _fact("Mei wants Tom to write the notes.", entities=["Mei", "Tom"])),
            ("I'm away", _fact("Tom is away until Thursday.", entities=["Tom"])),
            ("Budget is", _fact("The budget of the release is 12,500 dollars.")),
            ("No wait", _fact("The budget of the release is 13,500 dollars.")),
            ("a draft tomorrow", _fact("Lin will have a draft of the notes tomorrow.", entities=["Lin"])),
            ("Windows", _fact("The tests of the release must run on Windows, not on macOS.", memory_type="ToolMemory")),
        ),
        failing="Budget is",
    ),
    "chengdu": Talk(
        (
            *_told("小雨/user", "2023-05-08T10:00:00+08:00", "我昨天到了成都，住在春熙路附近。", "上周三买的票，花了860元。"),
            *_told("assistant", "2023-05-08T10:01:00+08:00", "成都的火锅很有名，你可以试试。"),
            *_told("小雨/user", "2023-05-08T10:02:00+08:00", "我不吃辣，就不去了。", "下周五回北京。", "不对，改成下周六回北京了。"),
            *_told("小雨/user", "2023-05-20T21:00:00+08:00", "今天已经回到家了，猫很想我。"),
        ),
        (
            ("到了成都", _fact("小雨昨天到了成都，住在春熙路附近。", tags=["旅行"], entities=["小雨", "成都", "春熙路"], relations=[["小雨", "到达", "成都"]])),
            ("上周三买的票", _fact("小雨上周三买了去成都的票，花了860元。", tags="旅行、花费")),
            ("火锅很有名", _fact("助手建议小雨尝尝成都的火锅。", memory_type="LongTermMemory")),
            ("我不吃辣", _fact("小雨不吃辣。")),
            ("下周五回北京", _fact("小雨计划下周五回北京。")),
            ("改成下周六", _fact("小雨改成下周六回北京。")),
            ("猫很想我", _fact("小雨今天回到家，她养了一只猫。")),
        ),
    ),
    "family": Talk(
        (
            *_told("user", "2024-02-10T19:00:00+08:00", "我叫王芳，我儿子叫李乐，今年7岁。", "他前天开始学游泳。"),
            *_told("assistant", "2024-02-10T19:01:00+08:00", "李乐可能怕水，您可以先让他在浅水区玩。"),
            *_told("user", "2024-02-10T19:02:00+08:00", "他不怕水。我先生下周二出差去深圳，三天。", "接下来请用表格回答。"),
        ),
        (
            ("我叫王芳", _fact("用户叫王芳。", entities=["王芳"])),
            ("我叫王芳", _fact("王芳的儿子叫李乐，今年7岁。", entities=["王芳", "李乐"], relations=[["李乐", "是儿子", "王芳"]])),
            ("前天开始", _fact("李乐前天开始学游泳。", entities=["李乐"])),
            ("可能怕水", _fact("用户的儿子可能怕水。")),
            ("他不怕水", _fact("李乐不怕水。")),
            ("他不怕水", _fact("王芳的先生下周二去深圳出差三天。", entities=["深圳"])),
            ("用表格", _fact("王芳希望用表格回答。", lifetime="short", entities=["表格"])),
        ),
        cut="前天开始",
    ),
    "office": Talk(
        (
            *_told("陈静/participant", "2025-11-03T09:00:00+08:00", "新办公室在浦东，11月20日搬。", "一共28个工位。"),
            *_told("老周/participant", "2025-11-03T09:10:00+08:00", "我不在20日搬，我27日才回来。", "打印机坏了，昨天报修的。"),
            *_told("陈静/participant", "2025-11-03T09:12:00+08:00", "预算是3万元，不含空调。", "下个月开始可以周五在家上班。"),
        ),
        (
            ("新办公室在浦东", _fact("新办公室在浦东，11月20日搬。", time="2025-11-20", entities=["浦东"])),
            ("28个工位", _fact("新办公室一共有28个工位。")),
            ("27日才回来", _fact("老周27日才回来，不在20日搬。", entities=["老周"], time="2025-11-27")),
            ("昨天报修", _fact("打印机坏了，老周昨天报修的。")),
            ("预算是3万元", _fact("搬家的预算是3万元，不含空调。")),
            ("周五在家", _fact("下个月开始可以周五在家上班。")),
        ),
        failing="27日才回来",
    ),
}  # fmt: skip
