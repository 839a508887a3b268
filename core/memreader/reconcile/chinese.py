"""Chinese sentences that give somebody's one value of something: home, employer, age. Any doubt gives none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memreader.dates.numerals import numeral_value
from memreader.reconcile.forms import Form
from memreader.reconcile.jobs import kind_of_job
from memreader.reconcile.places import level_of
from memreader.reconcile.statement import Slot

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭"
    "廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳"
    "邢骆岳齐沿梅庄辛管祝左涂谷祁时舒耿牟卜詹关苗凌费纪靳盛童欧甄项裴席"
)
_IN_NAMES = f"(?:(?![的了是在不没说想要会去来到从就都也还和跟与他她它们我你住搬做当有每过])[{_HAN}])"
_NO_NAMES = tuple(
    (
        "小区|小孩|小狗|小猫|小店|小组|小学|小说|小时|小朋友|小妹|小弟|小姐|小伙|小鸟|小鱼|小事|小家|老师|老板|老家|老人|老爸|老妈|老友|老乡|老房|老伴|老鼠|老两"
        "|阿姨|阿婆|高兴|高中|高铁|项目|方案|方法|黄金|张江|常常|经常|万一|万达|马上|安全|于是|关系|路上|金额|温度|田地|石头|江南|白天|马路|金鱼|黄瓜|牛奶"
        "|和尚|熊猫|龙虾|雷雨|路由|水果|时间|花园|花店|包子|温泉|易拉|成本|成果|应聘|应该|查询|车子|车队"
    ).split("|")
)
_NAME = rf"(?:[{_SURNAMES}]{_IN_NAMES}{{1,2}}|[小老阿]{_IN_NAMES}|[A-Z][a-z]+(?:\s[A-Z][a-z]+)?)"
_KIN = "妻子|老婆|太太|丈夫|老公|爱人|妈妈|母亲|爸爸|父亲|女朋友|男朋友|女友|男友"
_CHILD = "儿子|女儿|哥哥|弟弟|姐姐|妹妹|朋友|同事|同学"
_WHO = rf"(?P<subject>(?:用户|使用者|我)(?:的?(?:{_KIN})|的?(?:{_CHILD}){_NAME})?|{_NAME})"
_TIME = (
    r"(?:\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月(?:\d{1,2}[日号])?|(?:今年|去年|前年)(?:\d{1,2}月|[春夏秋冬]天|年初|年底)?"
    r"|上个?(?:月|周|星期)|本月|这个月|最近|近期|昨天|前天|今天|现在|目前|如今|已经|已|刚刚?|终于|正式|一直|长期|于)"
)
_ADV = f"(?:{_TIME})*"
_PLACE = rf"[{_HAN}A-Za-z·]{{2,12}}?"
_FIRM = r"[\w·&\s]{2,16}?"
_END = "(?:了|啦)?"
_BLOCKED = Form(
    r"如果|要是|假如|若|可能|也许|大概|或许|似乎|好像|打算|计划|准备|想|希望|考虑|将(?!军)|(?<![主重])要|(?<![协学社工商公])会(?![计议])"
    r"|曾|以前|之前|从前|过去|当时|小时候|那时|原来|原本|本来|(?<!小)说|听|认为|觉得|(?<!数)据|也|还|另外|又|兼职|有时|偶尔|经常|周末|暂"
    r"|临时|借住|出差|旅游|旅行|度假|实习|这周|本周|下周|下个?月|明年|几天|差点|差一点|梦|假装|没|未|别|非|不|吗|呢|[?？]|以后|之后|过(?!敏)"
    r"|面试|申请|应该|必须|愿意|喜欢(?!的)|讨厌|拒绝|差不多|快要|放弃|同时|一边|每年|每逢|轮流|分别"
)
_FIRMS = Form(
    r"(?:.公司|集团|银行|科技|医院|学校|大学|中学|小学|研究院|研究所|事务所|出版社|报社|电视台|航空|保险|证券|汽车|电器|电子)$"
    r"|^(?:腾讯|阿里巴巴|阿里|百度|字节跳动|字节|华为|小米|美团|京东|网易|滴滴|拼多多|快手|哔哩哔哩|小红书|携程|新浪|搜狐|联想|大疆|蚂蚁"
    r"|比亚迪|蔚来|理想汽车|小鹏|特斯拉|微软|谷歌|苹果|亚马逊|英特尔|英伟达|三星|索尼|丰田|宝马|奔驰|大众|星巴克|麦当劳|海底捞|中石油|中石化"
    r"|国家电网|中国移动|中国联通|中国电信|海尔|格力|美的|万科|恒大|顺丰|富士康|德勤|普华永道|安永|毕马威|麦肯锡|甲骨文|思科|爱立信|西门子)$"
)
_NO_FIRM = Form(
    r"俱乐部|社团|学生会|协会|会员|乐队|队|班|党|课程|健身|合唱|志愿|群|社$(?<!报社)(?<!版社)|[乐旅行剧]团$|家里|家$|这里|那里|某|外地|本地"
    r"|老家|国外|海外|努力|认真|拼命|专心|全职|远程|独立|辛苦|加班|自己|一起|线[上下]|[上里下中内]$|白天|夜|早上|晚上|的|很|^[\d第]"
    r"^(?:公司|银行|医院|学校|大学|工厂|餐厅|超市|互联网公司|外企|国企|私企|政府|机关)$"
    r"|办公室|实验室|咖啡馆|图书馆|周|星期|月|点"
)
_THING = (
    r"(?:手机号码?|手机号|电话号码|电话|微信号?|QQ号?|(?:工作|公司|个人|私人|备用)?(?:电子)?邮箱(?:地址)?|(?:家庭|公司|收货|通讯)?(?:住址|地址)|体重"
    r"|月薪|年薪|工资|薪水|房租|月租|月租金|直属上司|部门经理|房东|车牌号?|鞋码|就寝时间|起床时间"
    r"|(?:主力|默认)[\w]{1,6}?)"
)
_PEOPLE = ("上司", "经理", "房东")
_IS_NOW = "(?:现在|目前)?(?:换成|改成|变成|改为|换为|变为|更新为|涨到|降到|升到|减到|增到|调到)了?"
_RULES: tuple[tuple[str, str, str], ...] = (
    ("home", rf"(?:定?居?住在|定居在?|居住于|居住在|家住|的?家在)(?P<value>{_PLACE})", ""),
    (
        "home",
        rf"(?:从{_PLACE})?(?:搬家?|迁居?|移居|搬迁)(?:到|去|至|回|往)了?(?P<value>{_PLACE})(?:住|居住|生活|定居)?",
        "new",
    ),
    ("home", rf"搬家了?[,，]?(?:现在)?住(?:在|到)了?(?P<value>{_PLACE})", "new"),
    ("home", rf"(?:的(?:现?居住地|住处|所在城市|现居地)是|现居|现住|常住)(?:在)?(?P<value>{_PLACE})", ""),
    ("home", rf"移居(?P<value>{_PLACE})", "new"),
    ("home", rf"(?:不再住在|搬离|从(?=.+搬[走离]))(?P<value>{_PLACE})(?:搬[走离])?", "ends"),
    ("employer", rf"(?:就职于|任职于|供职于|受雇于)(?P<value>{_FIRM})", ""),
    ("employer", rf"在(?P<value>{_FIRM})(?:工作|上班|任职|就职|[做任当]\w{{2,10}})", ""),
    ("home", rf"在(?P<value>{_PLACE})(?:居住|生活)", ""),
    (
        "employer",
        rf"(?:从{_FIRM}(?:离职|辞职)?(?:后|了)?[,，]?(?:现在)?)?(?P<act>跳槽|入职|加入|转职|加盟)(?:到|去|至)?了?"
        rf"(?P<value>{_FIRM})(?:工作|上班)?(?:[做任当]\w{{2,10}})?",
        "new",
    ),
    ("employer", rf"换工作了?[,，]?(?:现在)?在(?P<value>{_FIRM})(?:工作|上班)", "new"),
    ("employer", rf"不再在(?P<value>{_FIRM})(?:工作|上班)", "ends"),
    ("employer", rf"从(?P<value>{_FIRM})(?:离职|辞职)", "ends"),
    ("occupation", r"(?:现在)?的?(?:职业|职位|工作|岗位)(?:现在)?是(?:[一1]?[名位个])?(?P<value>\w{2,12}?)", ""),
    ("occupation", r"(?:现在)?(?:是[一1]?[名位个]|担任|当|做)(?P<value>\w{2,12}?)", "job"),
    ("occupation", r"是(?![一1][名位个])(?P<value>\w{2,8}?)", "vague"),
    (
        "occupation",
        r"的?(?:职业|职位|工作|岗位)(?:从\w{2,12})?(?:变成|变为|换成|改成)了?(?P<value>\w{2,12}?)",
        "new job",
    ),
    ("occupation", r"(?:转行|改行)(?:做|当|成)?了?(?P<value>\w{2,12}?)", "new job"),
    ("occupation", r"(?:升任|升职为|晋升为|升为|当上|成为)了?(?:[一1]?[名位个])?(?P<value>\w{2,12}?)", "new job"),
    ("year of study", r"(?:读|上|在读|升|升入|升上|是)了?(?P<unit>[大高初])(?P<value>[一二三四1234])(?:学生)?", ""),
    ("age", r"(?:满|过完生日|的?年龄是)?(?P<value>\d{1,3})岁", ""),
    (
        "weight",
        r"的?体重(?:是|为|现在是|降到了?|涨到了?|减到了?)?(?P<value>\d+(?:\.\d+)?)(?P<unit>公斤|斤|千克|kg)",
        "",
    ),
    ("school", r"(?:在(?=.+[读学书研]$)|就读于)(?P<value>\w{2,10}大学)(?:读书|上学|念书|就读|读本科|读研)?", ""),
    ("school", r"(?:转学|转)(?:到|去|至)了?(?P<value>\w{2,10}大学)", "new"),
    ("major", r"(?:转专业|专业转|专业换|专业改)(?:到|成|为|去)了?(?P<value>\w{2,10}?)(?:专业)?", "new"),
    ("major", r"(?:的专业是|主修)(?P<value>\w{2,10}?)(?:专业)?", ""),
    (
        "favorite",
        rf"最(?:喜欢|喜爱|爱|钟爱)的(?P<what>[{_HAN}]{{1,6}}?)(?:现在)?(?:是|变成了?)(?P<value>[\w\s·]{{1,16}}?)",
        "",
    ),
    ("thing", rf"的?(?P<what>{_THING})(?:现在|目前)?(?:是|为)(?P<value>[^,，;；]{{1,30}}?)", ""),
    ("thing", rf"的?(?P<what>{_THING})(?:从[^,，]{{1,20}})?{_IS_NOW}(?P<value>[^,，;；]{{1,30}}?)", "new"),
    (
        "thing",
        rf"把(?P<what>{_THING})(?:从[^,，]{{1,20}})?(?:换|改|更新)(?:成|为)了?(?P<value>[^,，;；]{{1,30}}?)",
        "new",
    ),
    ("thing", r"的?(?P<what>月薪|年薪|房租|月租)(?P<value>\d[\w.]{0,10}?元?)", ""),
)
_SUBJECTS = Form(
    "(?:学|计算机|物理|生物|历史|中文|英语|日语|法语|德语|法律|金融|会计|经济|设计|工程|管理|新闻|语言|艺术|音乐|美术|建筑|软件|电子|自动化"
    "|机械|土木|统计|教育|心理|护理|人工智能)$"
)
_READ = tuple(
    (attribute, Form(rf"(?:{_TIME}[,，]?)?{_WHO}{_ADV}{middle}{_END}"), kind) for attribute, middle, kind in _RULES
)
_STATUS = Form(
    rf"(?:{_TIME}[,，]?)?{_WHO}{_ADV}(?:(?:和|跟|与)(?P<whom>{_NAME}))?(?:是|处于|目前|的?(?:婚姻|感情|恋爱)状[况态](?:是|为|变成|变为))?(?P<state>单身|恋爱中|在谈恋爱|谈恋爱|有女朋友|有男朋友"
    r"|订婚|已婚|结婚|领证|离婚|离异|丧偶|分手|恢复单身|结了婚|离了婚|订了婚)(?:状态)?了?"
)
_STATES = {
    word: state
    for state, words in {
        "together": "恋爱中 在谈恋爱 谈恋爱 有女朋友 有男朋友",
        "engaged": "订婚 订了婚",
        "married": "已婚 结婚 结了婚 领证",
        "divorced": "离婚 离了婚 离异",
        "widowed": "丧偶",
        "single": "分手 恢复单身 单身",
    }.items()
    for word in words.split()
}
_MEETINGS = (
    "会议|会|例会|约会|面试|聚会|聚餐|婚礼|考试|手术|航班|课|体检|复查|讲座|发布会|比赛|演唱会|演出|截止日期|饭局|晚饭|午饭"
    "|预约"
)
_MEETING = Form(
    rf"(?P<subject>(?:用户|我)?的?(?:(?:和|跟|与)[\w\s]{{2,10}}?的)?[{_HAN}]{{0,6}}?(?:{_MEETINGS}))(?:时间)?"
    r"(?:(?P<moved>已经?|被|临时)?(?:从\w{2,10})?(?P<change>改|推迟|提前|延期|延|挪|调整|换|调|改期)(?:到|至|在|为)了?"
    r"|(?:定|安排|约|订)?(?:在|于|是))(?P<value>[\w:：点半]{2,16}?)了?"
)
_TIMES = {
    "day": Form("(?:周|星期|礼拜)[一二三四五六日天]|[明后]天|月.*[日号]|[0-9]+[日号]"),
    "hour": Form("[点时]|[:：]"),
}
_YEARS = Form(rf"{_WHO}(?P<before>.*?)(?P<count>\d{{1,2}})个?(?P<unit>年|月)(?P<after>(?![前后内期级底初薪]).*)")
_LASTS = Form(r"(?:学|学习|练|练习|工作|教|干|弹|做|当|从事.*)了#|有#.*(?:经验|经历|历史|工龄|驾龄)|#了$|已经?#")
_HABIT = Form(rf"{_WHO}(?P<rest>[{_HAN}A-Za-z·\s]{{2,16}})")
_STOPPED = Form(
    rf"{_WHO}(?:已经?|现在|早就|如今|目前|彻底|终于)*(?:(?:不再|没再|再也不)(?P<rest>[{_HAN}A-Za-z·\s]{{2,16}}?)了?|不(?P<gone>[{_HAN}A-Za-z·\s]{{2,16}}?)了|戒掉?了?(?P<habit>烟|酒|咖啡|可乐|奶茶)了?)"
)
_DOING = {"烟": ("抽烟", "吸烟"), "酒": ("喝酒",), "咖啡": ("喝咖啡",), "可乐": ("喝可乐",), "奶茶": ("喝奶茶",)}
_SWITCHED = Form(rf"{_WHO}{_ADV}从(?P<value>[\w\s]{{2,16}}?)(?:换成|改用|换到|转用|转到)了?[\w\s]{{2,16}}?")
_ENDED = Form("不再|没再|再也不|不.*了$|戒|离职|辞职|搬[走离]|从.*[换改转]")


def chinese_slots(sentence: str) -> Iterator[Slot]:
    """Yield what one sentence gives, in one width, without its end mark; nothing for a sentence in any doubt."""
    # 小区 and 高兴 are written like 小明 and 高明.
    return (slot for slot in _read(sentence) if not slot.subject.startswith(_NO_NAMES))


def _read(sentence: str) -> Iterator[Slot]:
    ended = _ENDED.search(sentence) is not None
    if ended:
        yield from _stopped(sentence)
    blocked = _BLOCKED.search(sentence) is not None
    said_new = re.search("现在|如今", sentence) is not None
    for attribute, pattern, kind in _READ:
        match = pattern.fullmatch(sentence) if (ended if kind == "ends" else not blocked) else None
        if match:
            yield from _slot(attribute, match, kind=kind, said_new=said_new)
    yield from _moved(sentence)
    yield from _habit(sentence)
    if not blocked:
        yield from _status(sentence)
        yield from _lasting(sentence)


def _slot(attribute: str, match: re.Match[str], *, kind: str, said_new: bool) -> Iterator[Slot]:
    found = match.groupdict()
    value = " ".join(found["value"].split()).casefold()
    thing = found.get("what") or ""
    if attribute == "year of study":
        value = str(numeral_value(value))
    if attribute == "employer" and level_of(value) and not value.isascii():
        attribute = "town of work"
    if attribute == "employer" and not _FIRMS.search(value) and (_NO_FIRM.search(value) or value.startswith("在")):
        return
    # "在努力工作" has the form of "在腾讯工作": only a known one, or what is surely a firm.
    surely = _FIRMS.search(value) or found.get("act") in ("跳槽", "入职", "转职") or value.isascii()
    vague = (
        (kind == "vague" and not said_new)
        or value.startswith(("一家", "1家", "一个"))
        or (attribute == "employer" and not surely)
    )
    if attribute == "employer" and found.get("act") in ("加入", "加盟") and not _FIRMS.search(value):
        return
    if attribute == "occupation" and kind_of_job(value) is None:
        return
    if attribute == "thing" and not _fits(thing, value):
        return
    if attribute == "major" and not _SUBJECTS.search(value):
        return
    if attribute == "favorite" and re.search("[和或与、]|之一", value + thing):
        return
    if found.get("unit"):
        attribute = f"{attribute} in {found['unit']}"
    if thing:
        plain = thing.removesuffix("号码").removesuffix("号").removesuffix("地址") or thing
        attribute = f"{attribute} {plain}".removeprefix("thing ")
    yield Slot(
        _subject(match), attribute, value, new=kind.startswith("new") or said_new, ends=kind == "ends", vague=vague
    )


def _fits(thing: str, value: str) -> bool:
    if "邮箱" in thing:
        return "@" in value
    if thing.endswith(_PEOPLE):
        return re.fullmatch(_NAME, value, re.IGNORECASE) is not None
    if "手机" in thing or "电话" in thing:
        return re.fullmatch(r"\+?[\d\s()-]{3,25}", value) is not None
    if thing.startswith("微信"):
        return re.fullmatch(r"[\w-]{3,30}", value, re.ASCII) is not None
    if thing.startswith(("主力", "默认")):
        return True
    if "址" in thing:
        return any(map(str.isdigit, value))
    return re.match(r"[^\w\s]?\d", value) is not None


def _subject(match: re.Match[str]) -> str:
    """Return who it is, one name for the user, however called."""
    who = match["subject"].casefold().replace("使用者", "用户")
    who = "用户" + who[1:] if who.startswith("我") else who
    return "user" if who == "用户" else who.replace("用户的", "用户")


def _status(sentence: str) -> Iterator[Slot]:
    match = _STATUS.fullmatch(sentence)
    if match:
        yield Slot(_subject(match), "status", f"{_STATES[match['state']]} {match['whom'] or ''}".strip())


def _moved(sentence: str) -> Iterator[Slot]:
    match = _MEETING.fullmatch(sentence)
    if match and not re.search("不|没|可能|如果|每|想|吗", sentence):
        subject = re.sub("^(?:用户|我)?的?", "", match["subject"])
        for kind, named in _TIMES.items():
            if named.search(match["value"]):
                yield Slot(subject, kind, match["value"], new=match["change"] is not None)


def _lasting(sentence: str) -> Iterator[Slot]:
    """Yield for how long something has been so: the rest of the sentence is what has been so."""
    match = _YEARS.fullmatch(sentence)
    rest = f"{match['before']}#{match['after']}" if match else ""
    if match and _LASTS.search(rest) and not re.search("保修|合同|刑|有期|周|天|次|剩", rest):
        unit = "years" if match["unit"] == "年" else "months"
        rest = re.sub("已经?", "", rest).removesuffix("了")
        yield Slot(_subject(match), f"{unit} of {rest}", match["count"])


def _habit(sentence: str) -> Iterator[Slot]:
    match = _HABIT.fullmatch(sentence)
    if match and not match["rest"].endswith("了") and not re.match("[不没别未]", match["rest"]):
        yield Slot(_subject(match), f"does {match['rest'].casefold()}", "yes")


def _stopped(sentence: str) -> Iterator[Slot]:
    match = _SWITCHED.fullmatch(sentence)
    if match:
        for verb in ("用", "使用", "在用", "用的是"):
            yield Slot(_subject(match), f"does {verb}{match['value'].casefold()}", "yes", ends=True)
    match = _STOPPED.fullmatch(sentence)
    if match:
        for rest in _DOING.get(match["habit"] or "", (match["rest"] or match["gone"],)):
            yield Slot(_subject(match), f"does {rest.casefold()}", "yes", ends=True)
