"""Which language a text is in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.normalize import detect_language
from memreader.normalize.language_words import LATIN_LETTERS, SCRIPTS

LINES = """
zh|我昨天在 Starbucks 用 MacBook Pro 写 Python 代码
zh|请帮我 review 一下这个 pull request 的 code changes
zh|用 React Native 写 iOS app 比 Flutter 好
zh|她说 I love you 然后就走了
zh|iPhone 15 Pro Max 发布会
zh|明天开 meeting
zh|这个 bug 我 fix 了
zh|我想学 machine learning
zh|Kubernetes 集群 Pod 重启
zh|帮我订 Hilton Tokyo Bay
zh|安装 Visual Studio Code 插件
zh|GPT-4 和 Claude 哪个好
zh|给 Li Wei 发个 message 说 deadline 改到周五
zh|DeepSeek R1 模型 API key 怎么申请
zh|OK 好的
zh|你好
zh|3月5日
zh|user: [01:56 PM on 08 May, 2023]: 我喜欢猫
zh|assistant: 好的，我会记住 https://example.com/some/long/english/path/with/words
zh|我的 email 是 john.smith@example.com
zh|他喜欢听 아이유 的歌，也看韩国电视剧
zh|我喜欢看日本动漫《となりのトトロ》，也喜欢宫崎骏的其他作品，尤其是那部讲述少女在神隐世界中成长的电影，我看了很多遍
zh|北京上海广州深圳杭州南京成都武汉西安重庆长沙天津苏州の店
zh|臺灣的夜市很有名，我們明天去看看
en|I met 张三 yesterday at the office
en|My favourite is 麻婆豆腐 and 宫保鸡丁
en|The restaurant 海底捞火锅 is great
en|She said 我爱你 and left
en|How do you say 谢谢 in English?
en|Let's meet at 南京东路 station tomorrow
en|Call 李雷 about the Q3 budget
en|We ate 小笼包 and 生煎 in Shanghai
en|Please book 三亚 for the holidays
en|The word ありがとう means thank you
en|I love 김치찌개 and 불고기
en|I had a croissant at the café in Zürich
en|My name is Ana and my son is Leo
en|Hello
en|a
en|yes, no problem at all
en|Python tutorial
en|user: [01:56 PM on 08 May, 2023]: I like cats
ja|私は昨日 Starbucks で Python のコードを書きました
ja|東京都知事選挙の結果
ja|ありがとう
ja|カタカナ
ja|iPhone を買った
ko|나는 어제 카페에서 코드를 썼다
ko|나는 Starbucks에서 MacBook Pro로 썼다
ru|Я вчера был в Starbucks с MacBook Pro
uk|Я вчора їв борщ і вареники
ar|أنا أحب القهوة
fa|من قهوه می‌خواهم و چای گرم
he|אני אוהב קפה
th|ฉันชอบกาแฟ
hi|मुझे कॉफ़ी पसंद है
el|Μου αρέσει ο καφές
fr|J'ai mangé une pomme et je suis content
fr|Bonjour, je m'appelle Marie
de|Ich habe gestern einen Apfel gegessen
es|Hola, me llamo Ana y vivo en Madrid
es|¿Dónde está el baño?
pt|Eu não gosto de café com leite
it|Ciao, io sono Marco e vivo a Roma
nl|Ik heb gisteren een appel gegeten
vi|Tôi thích uống cà phê sữa đá
tr|Ben dün çok güzel bir kitap okudum
pl|Wczoraj byłem w kinie z moją siostrą
id|Saya tidak suka kopi yang pahit
und|
und|  \t
und|12345 678
und|😀👍🏽
und|!!! ... ???
und|https://example.com/a/b
und|550e8400-e29b-41d4-a716-446655440000
und|2023-05-08 13:56
und|01:56 PM on 08 May, 2023
und|[01:56 PM on 08 May, 2023]:
und|ana@example.com
"""


@pytest.mark.parametrize("line", LINES.strip("\n").split("\n"))
def test_a_line_is_in_the_language_its_grammar_is_in(line: str) -> None:
    language, _, text = line.partition("|")
    assert detect_language(text) == language


def test_role_prefixes_and_times_dont_make_a_chinese_window_english() -> None:
    window = "".join(f"assistant: [0{i}:56 PM on 08 September, 2023]: 好\n" for i in range(1, 10))
    assert detect_language(window) == "zh"


def test_only_the_start_of_a_long_text_is_looked_at() -> None:
    assert detect_language("我喜欢猫。" * 5_000 + "the cat is on the mat " * 100_000) == "zh"


@settings(deadline=None)
@given(st.text(max_size=200))
def test_every_text_has_a_short_code(text: str) -> None:
    assert 2 <= len(detect_language(text)) <= 3


@settings(deadline=None)
@given(st.text(alphabet="0123456789 .,!?😀🎉❤️-:/\n\t", max_size=60))
def test_digits_marks_and_emoji_tell_nothing(text: str) -> None:
    assert detect_language(text) == "und"


def test_plain_letters_are_of_no_script_and_no_language_of_their_own() -> None:
    """ASCII text is told by its small words alone."""
    plain = "".join(map(chr, range(128)))
    assert not any(pattern.search(plain) for pattern, _ in SCRIPTS.values())
    assert not any(set(own) & set(plain) for own in LATIN_LETTERS.values())
    assert detect_language("el gato come pescado") == "es"
    assert detect_language("Zyx qwv") == "en"
    assert detect_language("... 12 :-)") == "und"
