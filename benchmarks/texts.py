"""Texts and chats for the benchmarks, made here: the same for the same seed, as long as asked for."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from memreader.types import Message

ENGLISH_WORDS = (
    "the of and to in is that it was for on are with as at be this have from or had by but some what there we can out "
    "other were all your when up use word how said an each she which do their time if will way about many then them "
    "would write like so these her long make thing see him two has look more day could go come did my sound no most "
    "number who over know water than call first people may down side been now find any new work part take get place "
    "made live where after back little only round man year came show every good me give our under name very through "
    "just form much great think say help low line before turn cause same mean differ move right boy old too does tell "
    "sentence set three want air well also play small end put home read hand port large spell add even land here must "
    "big high such follow act why ask men change went light kind off need house picture try us again animal point "
    "mother world near build self earth father head stand own page should country found answer school grow study "
    "still learn plant cover food sun four thought let keep eye never last door between city tree cross since hard "
    "start might story saw far sea draw left late run while press close night real life few stop open seem together "
    "next white children begin got walk example ease paper often always music those both mark book letter until mile "
    "river car feet care second group carry took rain eat room friend began idea fish mountain north once base hear "
    "horse cut sure watch color face wood main enough plain girl usual young ready above ever red list though feel "
    "talk bird soon body dog family direct pose leave song measure state product black short numeral class wind "
    "question happen complete ship area half rock order fire south problem piece told knew pass farm top whole king "
    "size heard best hour better true during hundred remember step early hold west ground interest reach fast five "
    "sing listen six table travel less morning ten simple several vowel toward war lay against pattern slow center "
    "love person money serve appear road map science rule govern pull cold notice voice fall power town fine certain "
    "fly unit lead cry dark machine note wait plan figure star box noun field rest correct able pound done beauty "
    "drive stood contain front teach week final gave green quick develop sleep warm free minute strong special mind "
    "behind clear tail produce fact street inch lot nothing course stay wheel full force blue object decide surface "
    "deep moon island foot yet busy test record boat common gold possible plane age dry wonder laugh thousand ago ran "
    "check game shape hot miss brought heat snow bed bring sit perhaps fill east weight language among conversation "
    "memory assistant retrieval embedding recommendation appointment grandmother vaccination photographer apartment "
    "subscription electricity neighbourhood architecture university restaurant allergic peanuts marathon piano"
).split()
CHINESE_WORDS = (
    "我们 他们 今天 明天 昨天 喜欢 工作 学习 生活 朋友 家人 孩子 老师 学生 公司 项目 "
    "计划 会议 时间 问题 方法 结果 数据 系统 记忆 对话 助手 用户 文档 信息 内容 重要 "
    "简单 复杂 需要 可以 应该 已经 正在 开始 结束 继续 发现 认为 觉得 知道 记得 忘记 "
    "北京 上海 杭州 成都 广州 天气 下雨 旅行 飞机 火车 地铁 咖啡 绿茶 米饭 面条 水果 "
    "蔬菜 医院 医生 健康 运动 跑步 游泳 音乐 电影 小说 照片 生日 礼物 春节 中秋 周末 "
    "早上 下午 晚上 每天 经常 有时 从来 非常 比较 特别 因为 所以 但是 如果 虽然 而且 "
    "搬家 房子 租金 邻居 城市 农村 历史 文化 经济 科学 技术 语言 翻译 研究 实验 论文 "
    "大学 毕业 面试 工资 同事 经理 客户 合同 的 了 在 和 是 也 都 很 不 有 去 来 "
    "到 给 对 把 被 让 从 向 这 那 个 一 两 三 几 多 少 大 小 新 旧 好 坏 快 "
    "慢 高 低 "
).split()
_NAMES = ("Ana", "Ben", "Chen Wei", "Dora", "Emil", "李明", "王芳")


def english(characters: int, *, seed: int = 1) -> str:
    """Return English paragraphs of sentences."""
    return _paragraphs(characters, random.Random(seed), _english_sentence)


def chinese(characters: int, *, seed: int = 1) -> str:
    """Return Chinese paragraphs of sentences."""
    return _paragraphs(characters, random.Random(seed), _chinese_sentence)


def markdown(characters: int, *, seed: int = 1) -> str:
    """Return sections of paragraphs, lists, code fences and tables."""
    rng = random.Random(seed)
    blocks: list[str] = []
    size = 0
    while size < characters:
        if len(blocks) % 9 == 0:
            block = f"{'#' * rng.randint(1, 4)} {' '.join(rng.sample(ENGLISH_WORDS, 3)).title()}"
        else:
            block = rng.choice((_prose, _prose, _prose, _list, _code, _table))(rng)
        blocks.append(block)
        size += len(block) + 2
    return "\n\n".join(blocks)[:characters]


def chat(messages: int, *, seed: int = 1) -> list[Message]:
    """Return a conversation of user and assistant in English and Chinese, five minutes between messages."""
    rng = random.Random(seed)
    start = datetime(2024, 5, 3, 8, 12)
    turns = []
    for index in range(messages):
        make = _chinese_sentence if rng.random() < 0.2 else _english_sentence
        content = "".join(make(rng) for _ in range(rng.randint(1, 4))).strip()
        role = "user" if index % 2 == 0 else "assistant"
        time = (start + timedelta(minutes=5 * index)).isoformat()
        turns.append(Message(role, content, index, chat_time=time, time_given=True, message_id=f"m{index}"))
    return turns


def _paragraphs(characters: int, rng: random.Random, sentence: Callable[[random.Random], str]) -> str:
    paragraphs = []
    size = 0
    while size < characters:
        paragraph = "".join(sentence(rng) for _ in range(rng.randint(3, 9))).strip()
        paragraphs.append(paragraph)
        size += len(paragraph) + 2
    return "\n\n".join(paragraphs)[:characters]


def _english_sentence(rng: random.Random) -> str:
    words = rng.choices(ENGLISH_WORDS, k=rng.randint(5, 22))
    for place in range(len(words)):
        roll = rng.random()
        if roll < 0.02:
            words[place] = rng.choice(_NAMES[:5])
        elif roll < 0.03:
            words[place] = f"{rng.randint(1, 2030)}"
        elif roll < 0.08:
            words[place] += ","
    return f"{words[0].capitalize()} {' '.join(words[1:])}{rng.choice('....!?')} "


def _chinese_sentence(rng: random.Random) -> str:
    words = rng.choices(CHINESE_WORDS, k=rng.randint(5, 18))
    clauses = "".join(word + ("，" if rng.random() < 0.12 else "") for word in words).rstrip("，")
    return clauses + rng.choice("。。。！？")


def _prose(rng: random.Random) -> str:
    return "".join(_english_sentence(rng) for _ in range(rng.randint(2, 6))).strip()


def _list(rng: random.Random) -> str:
    return "\n".join(f"- {_english_sentence(rng).strip()}" for _ in range(rng.randint(3, 7)))


def _code(rng: random.Random) -> str:
    names = rng.sample(ENGLISH_WORDS, 6)
    lines = [f"    {name} = load({rng.randint(0, 99)})  # {rng.choice(ENGLISH_WORDS)}" for name in names]
    return "\n".join(("```python", "# not a heading", f"def {names[0]}_{names[1]}():", *lines, "```"))


def _table(rng: random.Random) -> str:
    rows = [f"| {rng.choice(ENGLISH_WORDS)} | {rng.randint(0, 999)} | {rng.choice(ENGLISH_WORDS)} |" for _ in range(6)]
    return "\n".join(("| name | count | note |", "| --- | --- | --- |", *rows))
