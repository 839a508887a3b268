"""How Chinese names are written in Latin letters, without tones."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from memreader.graph.chinese_words import SURNAMES

# GB 2312 lists its 3,755 common characters by sound: the first character of each syllable tells all of them.
_FIRST = """
    a啊 ai埃 an鞍 ang肮 ao凹 ba芭 bai白 ban斑 bang邦 bao苞 bei杯 ben奔 beng崩 bi逼 bian鞭 biao标 bie鳖 bin彬 bing兵
    bo玻 bu捕 ca擦 cai猜 can餐 cang苍 cao操 ce厕 ceng层 cha插 chai拆 chan搀 chang昌 chao超 che车 chen郴 cheng撑 chi吃
    chong充 chou抽 chu初 chuai揣 chuan川 chuang疮 chui吹 chun春 chuo戳 ci疵 cong聪 cou凑 cu粗 cuan蹿 cui摧 cun村 cuo磋
    da搭 dai呆 dan耽 dang当 dao刀 de德 deng蹬 di堤 dian颠 diao碉 die跌 ding丁 diu丢 dong东 dou兜 du督 duan端 dui堆
    dun墩 duo掇 e蛾 en恩 er而 fa发 fan藩 fang坊 fei菲 fen芬 feng丰 fo佛 fou否 fu夫 ga噶 gai该 gan干 gang冈 gao篙 ge哥
    gei给 gen根 geng耕 gong工 gou钩 gu辜 gua刮 guai乖 guan棺 guang光 gui瑰 gun辊 guo锅 ha哈 hai骸 han酣 hang夯 hao壕
    he呵 hei嘿 hen痕 heng哼 hong轰 hou喉 hu呼 hua花 huai槐 huan欢 huang荒 hui灰 hun荤 huo豁 ji击 jia嘉 jian歼 jiang僵
    jiao蕉 jie揭 jin巾 jing荆 jiong炯 jiu揪 ju鞠 juan捐 jue撅 jun均 ka喀 kai开 kan刊 kang康 kao考 ke坷 ken肯 keng坑
    kong空 kou抠 ku枯 kua夸 kuai块 kuan宽 kuang匡 kui亏 kun坤 kuo括 la垃 lai莱 lan蓝 lang琅 lao捞 le勒 lei雷 leng棱
    li厘 lia俩 lian联 liang粮 liao撩 lie列 lin琳 ling玲 liu溜 long龙 lou楼 lu芦 luan峦 lue掠 lun抡 luo萝 ma妈 mai埋
    man瞒 mang芒 mao猫 me么 mei玫 men门 meng萌 mi眯 mian棉 miao苗 mie蔑 min民 ming明 miu谬 mo摸 mou谋 mu拇 na拿 nai氖
    nan南 nang囊 nao挠 ne呢 nei馁 nen嫩 neng能 ni妮 nian蔫 niang娘 niao鸟 nie捏 nin您 ning柠 niu牛 nong脓 nu奴 nuan暖
    nue虐 nuo挪 o哦 ou欧 pa啪 pai拍 pan攀 pang乓 pao抛 pei呸 pen喷 peng砰 pi坯 pian篇 piao飘 pie撇 pin拼 ping乒 po坡
    pou剖 pu扑 qi期 qia掐 qian牵 qiang枪 qiao橇 qie切 qin钦 qing青 qiong琼 qiu秋 qu趋 quan圈 que缺 qun裙 ran然 rang瓤
    rao饶 re惹 ren壬 reng扔 ri日 rong戎 rou揉 ru茹 ruan软 rui蕊 run闰 ruo若 sa撒 sai腮 san三 sang桑 sao搔 se瑟 sen森
    seng僧 sha莎 shai筛 shan珊 shang墒 shao梢 she奢 shen砷 sheng声 shi师 shou收 shu蔬 shua刷 shuai摔 shuan栓 shuang霜
    shui谁 shun吮 shuo说 si斯 song松 sou搜 su苏 suan酸 sui虽 sun孙 suo蓑 ta塌 tai胎 tan坍 tang汤 tao掏 te特 teng藤
    ti梯 tian天 tiao挑 tie贴 ting厅 tong通 tou偷 tu凸 tuan湍 tui推 tun吞 tuo拖 wa挖 wai歪 wan豌 wang汪 wei威 wen瘟
    weng嗡 wo挝 wu巫 xi昔 xia瞎 xian掀 xiang相 xiao萧 xie楔 xin薪 xing星 xiong兄 xiu休 xu墟 xuan轩 xue靴 xun勋 ya压
    yan焉 yang殃 yao邀 ye椰 yi一 yin茵 ying英 yo哟 yong拥 you幽 yu迂 yuan鸳 yue曰 yun耘 za匝 zai栽 zan咱 zang赃 zao遭
    ze责 zei贼 zen怎 zeng增 zha扎 zhai摘 zhan瞻 zhang樟 zhao招 zhe遮 zhen珍 zheng蒸 zhi芝 zhong中 zhou舟 zhu珠 zhua抓
    zhuai拽 zhuan专 zhuang桩 zhui椎 zhun谆 zhuo捉 zi兹 zong鬃 zou邹 zu租 zuan钻 zui嘴 zun尊 zuo昨
"""
_MORE = """
    ai嫒愛 bao寶 bei蓓 bin賓 bo柏薄 can璨 chao朝 chen宸谌陳沈 cheng晟誠 chong重 chu褚 da達 dai黛 deng鄧 dong東 fan範
    fei霏飛 feng馮鳳鋒 fu馥 gang剛 gao郜 ge盖 gong龔 gu顧 guo國 han晗菡韓 hang行 hao昊皓灏顥 he賀 hong泓紅 hua桦華
    huan寰 huang黃 hui荟蕙輝 ji稷霁 jia賈 jiang蔣 jie婕傑潔 jin瑾 jing璟婧菁靜 jue珏 jun珺軍 kai恺 ke珂 kuai蒯 lai賴
    lan蘭 le乐 li郦麗 lin蔺 ling翎 liu劉 long龍 lu璐盧陸呂 luo羅 ma馬 mai邁 miao淼缪 min旻闵 ming銘 mou缪 mu沐 nan楠
    ou歐区 peng鵬 piao朴 po朴 pu濮 qi琪淇琦祺麒 qian倩茜骞錢 qiang強 qin覃 qing慶 qiu仇 ran苒 rong榕嵘榮 rui睿芮
    shan单 shao紹 shen莘沈参 sheng晟聖 shuang雙 shun順 song嵩 su蘇 sun孫 tan覃譚 tang湯 tao韬濤 ting婷 wan萬
    wei炜玮暐葳薇偉維緯 wu邬吳 xi曦郗茜 xia厦 xian娴賢 xiao潇筱蕭曉 xie謝解 xin鑫昕馨莘 xu許 xuan璇暄萱 xue學 xun荀
    ya娅 yan闫妍焱琰嫣晏閻嚴豔 yang楊陽 ye烨晔葉 yi怡熠懿漪翊義 yin胤 ying滢瑩穎 yong詠 yu钰瑜煜昱妤彧毓譽
    yuan瑗媛沅遠 yue玥乐 yun筠芸雲 zang臧 zeng曾 zha查 zhang張长 zhao趙 zhen桢 zheng峥鄭 zhi芷 zhong鍾 zi梓 zou鄒
"""
"""Readings of characters of names that stand outside that list, and second readings of some inside it."""

_STARTS = sorted((entry[-1].encode("gb2312"), entry[:-1]) for entry in _FIRST.split())
_KEYS = [start for start, _ in _STARTS]
_COMMON = (_KEYS[0], "座".encode("gb2312"))
_OTHER: dict[str, tuple[str, ...]] = {}
for _entry in _MORE.split():
    _syllable = _entry.rstrip("".join(c for c in _entry if not c.isascii()))
    for _character in _entry[len(_syllable) :]:
        _OTHER[_character] = (*_OTHER.get(_character, ()), _syllable)

_SYLLABLES = re.compile(f"(?:{'|'.join(sorted({syllable for _, syllable in _STARTS}, key=len, reverse=True))}){{1,2}}")
_HAN = re.compile("[\u4e00-\u9fff]")
_UMLAUT = str.maketrans("vü", "uu")


def readings(character: str) -> tuple[str, ...]:
    """Return the syllables that a Chinese character is read as in names, the usual one first; () if not known.

    Without tones, and with u for ü, which passports write in several ways.

    >>> readings("张"), readings("单"), readings("鱻")
    (('zhang',), ('dan', 'shan'), ())
    """
    try:
        code = character.encode("gb2312")
    except UnicodeEncodeError:
        code = b""
    known = _COMMON[0] <= code <= _COMMON[1] and len(code) == 2
    usual = (_STARTS[bisect_right(_KEYS, code) - 1][1],) if known else ()
    return tuple(dict.fromkeys(usual + _OTHER.get(character, ())))


def reads_as(name: str, latin: str) -> bool:
    """Return whether `latin` is how the Chinese `name` is written in pinyin: "Zhang San", "San Zhang", "zhāng-sān".

    Every character has to be a known one, so that two people are never taken for one. False for fewer than two
    characters, and for `latin` of more than 60.

    >>> reads_as("张三", "Zhang San"), reads_as("张三", "San Zhang"), reads_as("张三", "Zhang Si")
    (True, True, False)
    """
    if not 2 <= len(name) <= 8 or len(latin) > 60:
        return False
    written = "".join(c for c in unicodedata.normalize("NFD", latin.lower()) if not unicodedata.combining(c))
    words = re.findall("[a-z]+", written.translate(_UMLAUT))
    pattern = _pattern(name)
    if pattern is None or not words or not re.fullmatch(r"[a-z'’\s-]+", written):
        return False
    turned = [words[-1:] + words[:-1], words[1:] + words[:1]] if len(words) > 1 else []
    return any(pattern.fullmatch("".join(order)) for order in (words, *turned))


def sounds(name: str) -> frozenset[str]:
    """Return how a Chinese name may be written in pinyin, without blanks; empty if a character is not known.

    >>> sorted(sounds("单芳"))
    ['danfang', 'shanfang']
    """
    every = [""]
    for character in name[:8]:
        every = [f"{before}{syllable}" for before in every for syllable in readings(character)][:64]
    return frozenset(every)


def is_name_in_pinyin(words: Sequence[str]) -> bool:
    """Return whether lower-case `words` read as a Chinese name: a usual surname, then one or two syllables.

    >>> is_name_in_pinyin(["zhang", "xiaoming"]), is_name_in_pinyin(["zhang", "smith"])
    (True, False)
    """
    if not 2 <= len(words) <= 3 or not _SYLLABLES.fullmatch("".join(words[1:]).translate(_UMLAUT)):
        return False
    return words[0].translate(_UMLAUT) in _SURNAME_SOUNDS


@lru_cache(maxsize=4096)
def _pattern(name: str) -> re.Pattern[str] | None:
    sounds = [readings(character) if _HAN.match(character) else () for character in name]
    return re.compile("".join(f"(?:{'|'.join(each)})" for each in sounds)) if all(sounds) else None


_SURNAME_SOUNDS = frozenset(sound for surname in SURNAMES for sound in readings(surname)[:1])
