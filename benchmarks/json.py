"""Damaged answers of models: how many are read right, silently wrong, or crash; every cut and typo; and the time."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import json_parsers
from benchmarks.peers.json_parsers import Outcome
from benchmarks.table import NOT_INSTALLED, show
from benchmarks.timing import seconds
from memreader.extract.reply import ParsedReply, parse_reply

OURS = "memreader"
Row = tuple[str, str, list[str], list[int]]
ALPHABET = "{}[]\",:\\' \n-.0aZé中，"
GOALS = (
    "cases: right >= 51 of 53, 0 silently wrong, 0 crashes. cuts: 0 invented. typos: exact >= 45 %, 5 of 6 items in "
    ">= 90 %, 0 silently wrong. 1 MB with a trailing comma <= 5 x json.loads of a valid one; deep and braces <= 1 s."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare this benchmark's own options."""
    parser.add_argument("--data", metavar="FILE", help="jsonl of cases: name, raw, expected, why")
    parser.add_argument("--typos", type=int, default=3_000, metavar="N", help="mutations of one character to try")
    parser.add_argument("--megabytes", type=float, default=1.0, metavar="N", help="size of the texts that are timed")


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run, print, and return the result."""
    return show("damaged JSON", run(arguments), arguments, notes=[GOALS])


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the measures, a row per parser and kind of damage."""
    results: dict[str, Any] = {}
    if arguments.data:
        lines = Path(arguments.data).read_text(encoding="utf-8").splitlines()
        cases = [json.loads(line) for line in lines if line.strip()]
        raws = [case["raw"] for case in cases]
        results[OURS] = score(cases, [_ours(raw) for raw in raws])
        for name, peer in {} if arguments.no_peers else json_parsers.PEERS.items():
            outcomes = peer(raws)
            results[name] = NOT_INSTALLED if outcomes is None else score(cases, outcomes)
        results["floor: json.loads"] = score(cases, json_parsers.in_turn(json.loads, raws))
    results[f"{OURS}: every cut"] = cuts()
    results[f"{OURS}: typos"] = typos(arguments.typos)
    return results | times(round(arguments.megabytes * 2**20))


def _ours(raw: str) -> Outcome:
    parsed = parse_reply(raw)
    return Outcome(parsed.value, is_failed=parsed.status == "failed", is_marked=parsed.status == "repaired")


def score(cases: list[dict[str, Any]], outcomes: list[Outcome]) -> dict[str, Any]:
    """Return how many cases came out right, wrong without a word, or as a crash.

    A parser that tells what it guessed is silently wrong only where it says it guessed nothing. One that doesn't
    tell is so with every wrong value; raising or returning nothing is no lie.
    """
    right = silent = crashes = 0
    for case, outcome in zip(cases, outcomes, strict=True):
        if is_right(outcome, case["expected"]):
            right += 1
        elif outcome.is_crash:
            crashes += 1
        elif not outcome.is_failed and not outcome.is_marked:
            silent += 1
    return {"of": len(cases), "right": right, "silently wrong": silent, "crashes": crashes}


def is_right(outcome: Outcome, expected: Any) -> bool:
    """Tell whether an outcome is one that the case asks for."""
    if isinstance(expected, dict):
        if "__any__" in expected:
            return any(is_right(outcome, choice) for choice in expected["__any__"])
        if "__deep__" in expected:
            return not outcome.is_crash
        if "__none__" in expected:
            return not outcome.is_crash and (outcome.is_failed or outcome.value is None)
        if "__nan__" in expected:
            return outcome.value is not None and _is_nan(outcome.value, expected)
    return not outcome.is_failed and _text(outcome.value) == _text(expected)


def _is_nan(value: Any, expected: dict[str, Any]) -> bool:
    name = expected["__nan__"]
    rest = {key: inner for key, inner in expected.items() if key != "__nan__"}
    if not isinstance(value, dict) or name not in value or value[name] == value[name]:
        return False
    return _text({key: inner for key, inner in value.items() if key != name}) == _text(rest)


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        return repr(type(value))


# Every cut, every typo.


def answers() -> Iterator[dict[str, Any]]:
    """Yield valid answers of six memories, English and Chinese, written by hand as models would."""
    english: tuple[Row, ...] = (
        ("Moving house", "Ana moves to Leeds on 2024-03-02, into a flat with two rooms.", ["move", "Leeds"], [1, 2]),
        ("Allergy", 'Ana is allergic to nuts; her card says "no nuts, please".', ["health"], [3]),
        ("Work", "She starts at the library (branch [North]) at 8:30.", ["work", "library", "time"], [4]),
        ("Dog", "Her dog is called Bo, he's five years old.", [], [5, 6]),
        ("Path", "Her notes are in C:\\notes\\2024, backed up weekly.", ["files"], [7]),
        ("Plan", "She wants to learn Dutch {slowly} before summer.", ["plan", "language"], [8, 12]),
    )
    chinese: tuple[Row, ...] = (
        ("搬家", "小安三月二日搬到利兹，住两居室。", ["搬家", "利兹"], [1, 2]),
        ("过敏", "小安对坚果过敏；卡片上写着“不要坚果，谢谢”。", ["健康"], [3]),
        ("工作", "她八点半在图书馆（北馆）上班：周一到周五。", ["工作", "图书馆", "时间"], [4]),
        ("狗", "她的狗叫阿宝，五岁了。", [], [5, 6]),
        ("路径", "她的笔记存在\\“云盘\\”里，每周备份一次。", ["文件"], [7]),
        ("计划", "她想在夏天前慢慢学荷兰语。", ["计划", "语言"], [8, 12]),
    )
    for items, summary in ((english, "Ana is about to move."), (chinese, "小安快要搬家了。")):
        yield {
            "memory list": [
                {"key": key, "memory_type": "UserMemory", "value": value, "tags": tags, "lines": lines}
                for key, value, tags, lines in items
            ],
            "summary": summary,
        }


def written() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each answer with its text, indented and on one line."""
    for answer in answers():
        for indent in (None, 1):
            yield answer, json.dumps(answer, ensure_ascii=False, indent=indent)


def cuts() -> dict[str, Any]:
    """Return how answers cut at every place were read: nothing may be there that was not in the whole answer."""
    count = invented = failed = wrong_status = 0
    for answer, text in written():
        for stop in range(1, len(text)):
            parsed = parse_reply(text[:stop])
            count += 1
            failed += parsed.status == "failed"
            wrong_status += parsed.status != "truncated"
            invented += parsed.value is not None and not is_prefix(parsed.value, answer)
    return {"of": count, "invented": invented, "failed": failed, "not called truncated": wrong_status}


def is_prefix(part: Any, whole: Any) -> bool:
    """Tell whether everything in `part` is in `whole`, at the same place."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_prefix(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_prefix, part, whole))
    return type(part) is type(whole) and bool(part == whole)


def mutated(text: str, chance: random.Random) -> str:
    """Return the text with one character taken out, put in, or exchanged."""
    at = chance.randrange(len(text))
    kind = chance.choice(("delete", "insert", "replace"))
    char = "" if kind == "delete" else chance.choice(ALPHABET)
    return text[:at] + char + text[at + (kind != "insert") :]


def typos(count: int) -> dict[str, Any]:
    """Return how answers with one wrong character were read; what is still JSON is no damage."""
    chance = random.Random(7)
    pool = list(written())
    tried = exact = most = silent = unnamed = 0
    while tried < count:
        answer, text = chance.choice(pool)
        damaged = mutated(text, chance)
        if _is_json(damaged):
            continue
        tried += 1
        parsed = parse_reply(damaged)
        is_exact = parsed.value == answer
        items = found_items(parsed, answer)
        exact += is_exact
        most += items >= 5
        silent += not is_exact and parsed.status in ("strict", "truncated")
        unnamed += items < 5 and parsed.status == "repaired" and not parsed.lost
    share = {"exact %": 100 * exact / tried, "5 of 6 items %": 100 * most / tried}
    return {"of": tried, **share, "silently wrong": silent, "losses without a word": unnamed}


def found_items(parsed: ParsedReply, answer: dict[str, Any]) -> int:
    """Return how many of the answer's memories are in the value as they were."""
    value = parsed.value.get("memory list") if isinstance(parsed.value, dict) else parsed.value
    return sum(item in value for item in answer["memory list"]) if isinstance(value, list) else 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


# Time.


def times(size: int) -> dict[str, Any]:
    """Return the seconds that large texts take, as a multiple of `json.loads` of a valid text of that size."""
    entry = json.dumps(next(answers())["memory list"][1])
    valid = '{"memory list": [' + ", ".join([entry] * (size // len(entry))) + "]}"
    floor = min(seconds(lambda: json.loads(valid)) for _ in range(5))
    texts: dict[str, Callable[[], str]] = {
        "trailing comma": lambda: valid[:-2] + ",]}",
        "cut in the middle": lambda: valid[: len(valid) // 2],
        "a comma too many everywhere": lambda: valid.replace("}, ", ",}, "),
        "64k braces": lambda: "{" * 65_536,
        "depth 100k": lambda: "[" * 100_000,
        "quotes": lambda: '{"a": ' + '"b ' * (size // 3),
        "braces in prose": lambda: '{"x" {y ' * (size // 8),
        "backslashes": lambda: '{"a": "' + "\\" * size,
        "fences": lambda: "```json\n{'a': 1\n```\n" * (size // 19),
        "closers": lambda: '{"a": [' + "}," * (size // 2),
        "comments": lambda: '{"a": /*' + "/*" * (size // 2),
        "blanks": lambda: '{"a": "b"' + " " * size + '"c": 1}',
        "colons": lambda: '{"a": [' + '"b":' * (size // 4),
    }
    rows = {}
    for name, make in texts.items():
        text = make()
        taken = min(seconds(partial(parse_reply, text)) for _ in range(2))
        rows[f"{OURS}: {name}"] = {"seconds": taken, "x json.loads": taken / floor}
    return rows
