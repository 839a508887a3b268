"""Which names are of regions, towns and parts of towns: "lives in Germany" and "lives in Berlin" don't contradict."""

from __future__ import annotations

from typing import Literal

_REGIONS = frozenset(
    """
    africa|america|asia|europe|oceania|south america|north america|scandinavia|the us|us|usa|u.s.|united states
    the united states|uk|the uk|united kingdom|the united kingdom|england|scotland|wales|britain|ireland|france
    germany|spain|portugal|italy|greece|turkey|russia|ukraine|poland|austria|switzerland|belgium|the netherlands
    netherlands|holland|denmark|norway|sweden|finland|iceland|hungary|romania|bulgaria|serbia|croatia|slovenia
    slovakia|estonia|latvia|lithuania|czechia|czech republic|the czech republic|canada|mexico|brazil|argentina|chile
    peru|colombia|ecuador|bolivia|uruguay|paraguay|venezuela|cuba|jamaica|costa rica|panama|guatemala|china
    mainland china|japan|korea|south korea|north korea|taiwan|india|pakistan|bangladesh|nepal|sri lanka|thailand
    vietnam|laos|cambodia|myanmar|malaysia|indonesia|philippines|the philippines|mongolia|kazakhstan|iran|iraq|israel
    jordan|lebanon|syria|saudi arabia|qatar|kuwait|oman|uae|the uae|egypt|morocco|algeria|tunisia|libya|sudan|ethiopia
    kenya|uganda|tanzania|rwanda|ghana|nigeria|senegal|cameroon|angola|zambia|zimbabwe|namibia|botswana|south africa
    mozambique|madagascar|australia|new zealand|fiji|california|texas|florida|ohio|oregon|nevada|arizona|utah|colorado
    montana|idaho|wyoming|alaska|hawaii|illinois|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts
    michigan|minnesota|mississippi|missouri|nebraska|new hampshire|new jersey|new mexico|north carolina|south carolina
    north dakota|south dakota|oklahoma|pennsylvania|rhode island|tennessee|vermont|virginia|west virginia|wisconsin
    alabama|arkansas|connecticut|delaware|ontario|alberta|british columbia|manitoba|nova scotia|quebec province
    bavaria|saxony|hesse|tuscany|sicily|sardinia|lombardy|catalonia|andalusia|galicia|brittany|normandy|provence|kent
    essex|surrey|sussex|devon|cornwall|yorkshire|lancashire|queensland|victoria|tasmania|new south wales|hokkaido
    okinawa|siberia|guangdong|sichuan|yunnan|zhejiang|jiangsu|fujian|hunan|hubei|henan|hebei|shandong|shanxi|shaanxi
    anhui|jiangxi|中国|美国|英国|法国|德国|日本|韩国|朝鲜|俄罗斯|加拿大|澳大利亚|澳洲|新西兰|新加坡|马来西亚|泰国|越南
    印度|印尼|菲律宾|西班牙|葡萄牙|意大利|瑞士|瑞典|挪威|芬兰|丹麦|荷兰|比利时|奥地利|波兰|希腊|土耳其|巴西|阿根廷
    墨西哥|智利|埃及|南非|欧洲|亚洲|非洲|美洲|北美|南美|东南亚|国外|海外|国内|台湾|河北|山西|辽宁|吉林|黑龙江|江苏
    浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南|陕西|甘肃|青海|内蒙古|广西|西藏|宁夏|新疆|加州
    德州|佛罗里达
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
) - {""}
_PARTS = frozenset(
    """
    brooklyn|manhattan|queens|the bronx|bronx|staten island|harlem|soho|chelsea|tribeca|hollywood|beverly hills|camden
    hackney|brixton|islington|kensington|notting hill|greenwich|westminster|croydon|wimbledon|kreuzberg|neukölln|mitte
    charlottenburg|prenzlauer berg|montmartre|le marais|shibuya|shinjuku|ginza|kowloon|downtown|midtown|pudong|puxi
    xuhui|jing'an|haidian|chaoyang|nanshan|futian|tianhe|nob hill|the mission|capitol hill|bandra|gangnam|trastevere
    海淀|朝阳|东城|西城|丰台|石景山|通州|昌平|大兴|顺义|望京|中关村|五道口|国贸|浦东|浦西|徐汇|静安|黄浦|长宁|杨浦
    虹口|普陀|闵行|宝山|嘉定|松江|陆家嘴|天河|越秀|海珠|白云|番禺|福田|南山|罗湖|宝安|龙岗|武侯|锦江|青羊|西湖|滨江
    余杭|九龙|铜锣湾
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
) - {""}
_TOWNS = frozenset(
    """
    北京 上海 天津 重庆 广州 深圳 香港 澳门 台北 高雄 成都 杭州 武汉 西安 南京 苏州 无锡 常州 宁波 温州 绍兴 嘉兴 合肥
    福州 厦门 泉州 南昌 济南 青岛 烟台 威海 郑州 洛阳 长沙 株洲 南宁 桂林 海口 三亚 贵阳 昆明 大理 丽江 拉萨 兰州 西宁
    银川 乌鲁木齐 呼和浩特 石家庄 保定 太原 大同 沈阳 大连 长春 哈尔滨 珠海 佛山 东莞 中山 惠州 汕头 徐州 扬州 南通
    镇江 唐山 东京 大阪 京都 名古屋 札幌 首尔 釜山 曼谷 清迈 河内 吉隆坡 雅加达 马尼拉 孟买 新德里 迪拜 伊斯坦布尔
    莫斯科 伦敦 曼彻斯特 爱丁堡 巴黎 里昂 柏林 慕尼黑 汉堡 法兰克福 马德里 巴塞罗那 里斯本 罗马 米兰 佛罗伦萨 维也纳
    苏黎世 日内瓦 布鲁塞尔 阿姆斯特丹 哥本哈根 斯德哥尔摩 奥斯陆 赫尔辛基 布拉格 华沙 布达佩斯 雅典 纽约 波士顿 华盛顿
    芝加哥 洛杉矶 旧金山 西雅图 圣何塞 硅谷 休斯顿 达拉斯 奥斯汀 费城 迈阿密 亚特兰大 丹佛 多伦多 温哥华 蒙特利尔
    渥太华 悉尼 墨尔本 布里斯班 珀斯 奥克兰 惠灵顿 开罗 开普敦 内罗毕 圣保罗 墨西哥城
    """.split()
)
_KNOWN_TOWNS = frozenset(
    """
    new york|new york city|los angeles|san francisco|chicago|boston|seattle|austin|dallas|houston|denver|portland
    miami|atlanta|philadelphia|phoenix|san diego|san jose|las vegas|detroit|minneapolis|nashville|orlando|washington
    baltimore|pittsburgh|cleveland|salt lake city|sacramento|st. louis|kansas city|new orleans|honolulu|charlotte
    columbus|toronto|vancouver|montreal|ottawa|calgary|edmonton|mexico city|london|manchester|birmingham|liverpool
    leeds|york|bristol|edinburgh|glasgow|cardiff|belfast|dublin|cork|oxford|cambridge|paris|lyon|marseille|nice
    bordeaux|toulouse|lille|berlin|munich|hamburg|cologne|frankfurt|stuttgart|leipzig|dresden|bonn|vienna|salzburg
    zurich|geneva|basel|bern|amsterdam|rotterdam|utrecht|the hague|brussels|antwerp|ghent|madrid|barcelona|valencia
    seville|bilbao|lisbon|porto|rome|milan|naples|turin|florence|venice|bologna|athens|istanbul|ankara|moscow|kyiv
    warsaw|krakow|prague|budapest|bucharest|sofia|belgrade|zagreb|stockholm|gothenburg|oslo|bergen|copenhagen|helsinki
    reykjavik|tallinn|riga|vilnius|tokyo|osaka|kyoto|nagoya|sapporo|fukuoka|yokohama|seoul|busan|beijing|shanghai
    guangzhou|shenzhen|hangzhou|nanjing|suzhou|chengdu|chongqing|wuhan|xi'an|tianjin|qingdao|dalian|xiamen|changsha
    kunming|hong kong|macau|taipei|bangkok|chiang mai|hanoi|ho chi minh city|jakarta|bali|manila|kuala lumpur|mumbai
    delhi|new delhi|bangalore|chennai|kolkata|hyderabad|pune|karachi|lahore|dhaka|dubai|abu dhabi|doha|riyadh|tehran
    tel aviv|jerusalem|cairo|casablanca|nairobi|lagos|accra|cape town|johannesburg|sydney|melbourne|brisbane|perth
    adelaide|auckland|wellington|são paulo|sao paulo|rio de janeiro|buenos aires|santiago|lima|cusco|bogotá|bogota
    medellín|medellin|quito|havana
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
) - {""}
_NO_PLACES = frozenset(
    """
    sales marketing engineering finance hr operations management legal support product design research accounting
    purchasing logistics it qa linux ubuntu windows mac macos ios android python java javascript typescript rust go
    ruby kotlin swift react vue slack teams notion zoom spotify netflix discord signal telegram whatsapp team group
    room class grade level plan plans section unit building floor page islam christianity buddhism judaism catholicism
    vegan english french spanish monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july google apple meta amazon microsoft facebook tesla ibm intel oracle nvidia adobe uber airbnb twitter
    deloitte kpmg pwc mckinsey accenture samsung sony siemens bosch bmw toyota nokia shopify stripe openai anthropic
    bytedance tencent alibaba huawei xiaomi baidu goldman morgan jpmorgan citibank hsbc pfizer novartis unilever
    nestle ikea walmart harvard stanford yale princeton
    android gmail chrome firefox windows obsidian evernote excel github gitlab premium pro august
    september october november december spring summer autumn winter fall
    """.split()
)

Level = Literal["region", "town", "part"]


def level_of(name: str) -> Level | None:
    """Return how wide a place is by its name, lower case; None for what may be no place.

    A Latin name that is in no list counts as a town's; a Chinese one only if it is known, or ends like one.

    >>> level_of("germany"), level_of("lisbon"), level_of("朝阳区"), level_of("新房子"), level_of("marketing")
    ('region', 'town', 'part', None, None)
    """
    if name in _REGIONS or name.endswith("省"):
        return "region"
    if name in _PARTS or (name[-1:] in "区區镇乡村" and len(name) > 2 and not name.isascii()):
        return "part"
    if name.isascii() or not "\u3400" <= name[-1:] <= "\u9fff":
        words = set(name.replace(",", " ").split())
        return None if not words or words & _NO_PLACES else "town"
    is_town = name in _TOWNS or (name[-1] == "市" and len(name) > 2 and name not in ("城市", "超市"))
    return "town" if is_town else None


def can_move(old: str, new: str, *, said: bool) -> bool:
    """Return whether somebody who lived at one place has left it by living at the other.

    Args:
        old: Where somebody lived, lower case.
        new: Where they live later.
        said: Whether the later statement says that it is a change.
    """
    # Where no change is said, an unknown name may be of a part of the other place.
    before, after = level_of(old), level_of(new)
    if before is None or after is None:
        return False
    if not said and not all(_is_known(name) for name in (old, new)):
        return False
    return before == after or (said and before == "town" and after == "region")


def _is_known(name: str) -> bool:
    return name in _KNOWN_TOWNS or name in _REGIONS or not name.isascii() or ", " in name
