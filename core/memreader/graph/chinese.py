"""Chinese and Japanese names, by surnames with something before or after that only stands beside a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memreader.graph.chinese_words import (
    AFTER_NAME,
    DOUBLE_SURNAMES,
    GENERIC,
    GIVEN,
    LIKE_NAMES,
    NOT_ALONE,
    NOT_GIVEN,
    ORGANISATION_ENDS,
    PLACE_ENDS,
    PLACES,
    SCHOOLS,
    SURNAMES,
    WORK_CUES,
)
from memreader.graph.found import HAN, Found, Kind, occurrences
from memreader.graph.names import TITLES_AFTER

_SURNAME = f"(?:{'|'.join(DOUBLE_SURNAMES)}|[{''.join(sorted(SURNAMES))}])"
_NO_WORD_SURNAMES = frozenset(
    "张王李刘陈杨赵吴周徐孙朱胡郭何林罗郑梁谢宋唐许韩邓冯曹彭肖萧潘袁蔡蒋魏吕姚沈崔谭廖邹邱侯薛阎闫郝龚邵覃"
    "張劉陳楊趙吳孫羅鄭謝許韓鄧馮蕭呂譚鄒閻龔欧歐司上诸夏皇尉公慕令南端宇长"
)
"""Surnames that rarely begin another word: enough where only the sentence speaks for a name."""
_AFTER = re.compile(
    rf"\Z|[{re.escape(''.join(sorted(AFTER_NAME)))}]|一起|一样|一家|今天|昨天|明天|最近|刚刚|刚才|正在|先生|女士|老师|告诉|喜欢|觉得|认识|结婚|生日|送|打电话"
    r"|请|约|帮|教|做|吃|看|买|开|写|发|搬|当|负责|工作|毕业|来自|因为|所以|但|或|以及|等|家|A-Za-z|\d"
)

_TITLES = "|".join(sorted((t for t in TITLES_AFTER if t not in {"同学", "大哥", "大姐"}), key=len, reverse=True))
_TITLED = re.compile(f"(?=(?P<name>{_SURNAME}(?P<given>[{HAN}]{{0,2}}?))(?P<title>{_TITLES}))")
_NOT_BEFORE_SURNAME = frozenset(
    """
    语文 英文 中文 国文 外文 作文 天文 人文 论文 历史 国史 对方 官方 我方 校方 甲方 乙方 双方 地方 买方 卖方 资方 警方
    前任 现任 新任 历任 继任 主任 时任 担任 信任 责任 音乐 快乐 驻华 中华 公安 治安 平安 小康 健康 国王 女王 大王 霸王
    白马 数学 大江 长江 京江 黄金 现金 资金 基金 水温 体温 骑马 养马 名片钱 花钱 省钱 人马 领袖夏 今夏 初夏 盛夏 水田
    稻田 油田 石林 森林 园林 绿林 海龙 恐龙 沙龙 地雷 扫雷 火石 宝石 钻石 化石 商贾 书香叶 茶叶 树叶 落叶 时钟 分钟
    闹钟 专程 过程 课程 工程 里程 日程 路程 全程 旅程 前程 议程 启程 流程 教程 行程 编程 上学史 时常 平常 经常 日常
    非常 异常 通常 正常 家常 大方 东方 西方 南方 北方
    """.split()
)
"""Words whose second character would be read as a surname."""

_SAID = (
    "名叫|名字叫|名字是|名为|叫做|叫作|叫|姓名[:：是]?|本名|真名叫?|原名",
    "我是|这是|这位是|那位是|认识了?|遇到了?|遇见了?|碰到了?|见到了?|拜访了?|联系了?|通知了?|邀请了?|感谢|喜欢|崇拜|告诉了?|想念|采访了?",
    "朋友|同事|同学|室友|邻居|客户|老板|领导|老公|老婆|妻子|丈夫|儿子|女儿|弟弟|妹妹|哥哥|姐姐|表哥|表姐|表弟|表妹|堂哥|堂弟|男友|女友|闺蜜|对象|搭档|导师|教练"
    "|作家|导演|演员|歌手|记者|总裁|经理|工程师|律师|医生|老师|教授|学生|班长|队长|主持人|负责人|创始人",
    "[和跟找问见约陪请帮给向对与替、]",
)
_CUES = tuple(re.compile(f"(?:{cue})(?=[{HAN}])") for cue in _SAID)
_CLAUSE = re.compile(
    rf"(?:^|[\n。！？!?；;，,：:“「（(]|因为|但是|所以|听说|昨天|今天|明天|上周|后来|记得|觉得|听)[ \t]?(?={_SURNAME})",
    re.MULTILINE,
)
_FOREIGN = (
    "阿艾爱安奥巴贝本比彼毕波伯博布查茨达大戴丹德登迪蒂丁顿多厄恩尔法范菲费芬弗福富盖戈格葛古哈海汉豪赫亨胡华"
    "霍吉基济加贾杰金卡凯坎康科克肯库拉莱兰朗劳勒雷里理利丽莉琳列林卢鲁露伦罗洛玛马麦曼梅门蒙米密莫默穆娜纳南"
    "内尼妮涅宁纽努诺欧帕派培佩彭皮普奇齐契乔切琼丘热荣茹瑞若萨塞赛桑瑟莎沙舍圣施史士斯丝松苏索塔泰坦汤特提廷"
    "图托瓦万旺威薇韦维温文沃乌吴武西希席夏香肖歇谢辛休雅亚延扬杨耶叶伊依易因英尤于约泽扎詹珍朱佐居"
)
_TRANSCRIBED = re.compile(f"[{_FOREIGN}]{{1,6}}(?:·[{_FOREIGN}]{{1,8}}){{1,4}}")
_JAPANESE = re.compile(f"(?<![{HAN}ァ-ヶー])([{HAN}]{{1,3}}|[ァ-ヶー]{{2,8}})(?=さん|ちゃん|くん|様)")
_JAPANESE_KIN = frozenset(
    "客 皆 母 父 兄 姉 奥 娘 嫁 婆 爺 祖母 祖父 息子 叔父 叔母 神 王 医者 店員 運転手 患者".split()
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_TITLE_MARKS = re.compile(r"《([^《》\n]{1,60})》")
_IN_QUOTES = re.compile(
    rf"(?:{_any_of(WORK_CUES)})(?:是|叫做|叫|名叫|名为|，)?[“「『](?P<title>[^“”「」『』\n，。！？]{{1,20}})[”」』]"
)
_IN = (
    "住在|来到|飞往|前往|位于|坐落在|经过|路过|参观|毕业于|就职于|任职于|入职|入职了|加入|加入了|离开|考上|考上了|考入|"
    "在|去|到|从|回|往"
)
_AFTER_IN = re.compile(
    f"(?:{_IN})(?P<name>(?P<stem>[{HAN}]{{2,6}}?)(?P<end>{_any_of({*PLACE_ENDS, *ORGANISATION_ENDS})}))(?![口生里化])"
)
_GENERIC = re.compile(_any_of(GENERIC))
_WELL_KNOWN = re.compile(f"(?:{_any_of({*PLACES, *SCHOOLS})})(?:大学|银行|医院|机场|火车站|出版社)(?!生)")
_PLACE = re.compile(f"(?:{_any_of(PLACES)})(?![人话菜语式味货籍队烤路街]|[日天]报)")
_NOT_PLACE = re.compile("[变达建完造组]成都|[今明昨每节假生即]日本")


def chinese_names(text: str) -> list[Found]:
    """Return Chinese and Japanese names, surest first; they may overlap. `text` is masked."""
    found = [
        Found(match[1], "work", match.start(1), match.end(1))
        for match in _TITLE_MARKS.finditer(text)
        if match[1].strip()
    ]
    found += _in_quotes(text)
    found += [Found(match[0], "person", *match.span()) for match in _TRANSCRIBED.finditer(text)]
    found += _with_title(text)
    found += _cued(text)
    found += [
        Found(match[1], "person", *match.span(1)) for match in _JAPANESE.finditer(text) if match[1] not in _JAPANESE_KIN
    ]
    found += _places(text)
    people = {each.name for each in found if each.kind == "person" and each.name not in LIKE_NAMES}
    return [*found, *occurrences(text, people, "person")]


def _in_quotes(text: str) -> list[Found]:
    """Return what stands in quotes after a word that says that it is a work."""
    return [
        Found(match["title"], "work", *match.span("title"))
        for match in _IN_QUOTES.finditer(text)
        if match["title"].strip()
    ]


def _with_title(text: str) -> Iterator[Found]:
    """Yield 王老师, and of 王小明老师 the name."""
    for match in _TITLED.finditer(text):
        start, given = match.start(), match["given"]
        if text[max(0, start - 1) : start + 1] in _NOT_BEFORE_SURNAME or text[start : start + 2] in LIKE_NAMES:
            continue
        if all(character in GIVEN for character in given):
            end = match.end("name") if given else match.end("title")
            yield Found(text[start:end], "person", start, end)


def _cued(text: str) -> Iterator[Found]:
    """Yield names after words that stand before one, and at the start of a clause."""
    for cue, strict in zip(_CUES, (False, True, False, True), strict=True):
        for match in cue.finditer(text):
            end = name_at(text, match.end(), strict=strict)
            if end:
                yield Found(text[match.end() : end], "person", match.end(), end)
    for match in _CLAUSE.finditer(text):
        end = name_at(text, match.end(), strict=True)
        if end and text[match.end()] in _NO_WORD_SURNAMES:
            yield Found(text[match.end() : end], "person", match.end(), end)


def name_at(text: str, start: int, *, strict: bool) -> int | None:
    """Return where the Chinese name of a person that begins at `start` ends, None if none does.

    Args:
        text: Any.
        start: Where a surname has to stand.
        strict: Whether the given name has to be made of characters that are usual in one.
    """
    like_a_word = text[start : start + 2] in LIKE_NAMES
    if like_a_word and strict:
        return None
    surname = 2 if text[start : start + 2] in DOUBLE_SURNAMES else 1
    if surname == 1 and text[start : start + 1] not in SURNAMES:
        return None
    for size in (2, 1):
        end = start + surname + size
        given = text[start + surname : end]
        if len(given) < size or not all("\u4e00" <= c <= "\u9fff" for c in given):
            continue
        if size == 2 and given[1] in AFTER_NAME:
            continue
        if size == 1 and (like_a_word or given in NOT_ALONE):
            continue
        fits = (
            all(c in GIVEN for c in given)
            if strict or like_a_word
            else not any(c in NOT_GIVEN and c not in GIVEN for c in given)
        )
        if fits and _AFTER.match(text, end):
            return end
    return None


def _places(text: str) -> Iterator[Found]:
    """Yield places and organisations: well-known ones anywhere, others where something is in, to or from them."""
    for match in _WELL_KNOWN.finditer(text):
        kind: Kind = "place" if match[0].endswith(("机场", "火车站")) else "organisation"
        yield Found(match[0], kind, *match.span())
    for match in _AFTER_IN.finditer(text):
        if match["stem"] not in PLACES and not _GENERIC.search(match["stem"]):
            kind = "organisation" if match["end"] in ORGANISATION_ENDS else "place"
            yield Found(match["name"], kind, *match.span("name"))
    barred = {place for match in _NOT_PLACE.finditer(text) for place in range(*match.span())}
    for match in _PLACE.finditer(text):
        if match.start() not in barred:
            yield Found(match[0], "place", *match.span())
