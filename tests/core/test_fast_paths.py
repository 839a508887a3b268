"""What is skipped where it can't be there: every short way gives what the long one does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memreader.normalize import language
from memreader.recall import lexical
from memreader.reconcile import Slot, english, slots, surface, surface_key
from memreader.reconcile.english_rules import ANYMORE, BE, MEETING, RULES, STATUS, STATUS_IS, STOPPED, SWITCHED
from memreader.reconcile.english_words import BLOCKED, NUMBER_WORDS
from memreader.reconcile.forms import Form
from memreader.reconcile.slots import _ENDS, _NOTE, _QUOTES, _SENTENCE, _sentences

FORMS = [form for _, form, _ in RULES] + [ANYMORE, BE, MEETING, STATUS, STATUS_IS, STOPPED, SWITCHED]
PIECES = (
    "the user's don't cant couldn’t Cannot CANNOT we're I'm won't U.S. J.K. http://a.b/c. a@b.co C++ A- grade b- .NET"
    " x.y -5 − 1,200 12,34 10-12 ~5 ~ no, not — no NOT; five FIVE twenty-five fıve ` ´ ＃ １２ ½ x² 三只 不，"
    " \x1f _no _a-"
).split(" ")
PARTS = (
    "User|Ana Ruiz|My|user's wife|I|has|is|is a|no longer|now|not|lives in Porto|moved to Lisbon"
    "|moved, now lives in Rome|works at Acme|as a teacher|five years|for two years|left Acme for Umbra|single|married"
    "|'s rent is 900|home is in"
    "|stopped smoking|switched from Vim to Emacs|does not smoke anymore|the meeting|on Monday|was moved to|would|also"
    "|favorite color is red|changed from red to blue|drives a red car|turned 30|30|years old|left|quit Acme|in 2020"
    "|has worked|months|goes to the gym|likes tea|majors in physics|weighs 70 kg|prefers tea over coffee|in 2021, |new"
).split("|")
HARD = (
    "no, it is", "not; so", "it is -5", "DONT go", "a@b.co x", "write to a@b.co now", "https://a.b/c?d", "Go。B",
    "A. B", "Ana's check-up on 1,200 days", "it is ~5 or ~ so", "grade b- or .NET", "J.K. Rowling", "Cannot go",
    "we’re 5", "(2024-05) x", "www.a.com and", "[shared image] x", "user: hello", "3:30 b2b",
)  # fmt: skip
"""Of each kind that a short way must leave to the long one."""
texts = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(max_codepoint=127), max_size=40),
    st.text("ab'- .,:;?~noteus@/#$+5_()\"", max_size=30),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
)


def long_plain(text: str) -> str:
    """`plain`, every pattern looked for everywhere."""
    raised = surface._RAISED.sub(lambda match: "^" + match[0], text)
    shown = unicodedata.normalize("NFKC", surface._FRACTION.sub(r" \1", raised)).translate(surface._ALIKE)
    shown = surface._SHORT.sub(surface._written_out, shown)
    shown = surface._WITHOUT_APOSTROPHE.sub(surface._with_not, shown)
    shown = surface._INITIALS.sub(lambda match: match[0].replace(".", ""), shown)
    return surface._COUNTED.sub(surface._in_figures, surface._THE_USER.sub("", shown))


def long_surface_key(text: str) -> str:
    """`surface_key`, every token by the whole pattern."""
    matches = surface._TOKEN.finditer(long_plain(text).casefold())
    tokens = [token for match in matches if (token := surface._told(match))]
    return " ".join(tokens) or " ".join(unicodedata.normalize("NFKC", text).split())


def long_terms(text: str) -> list[str]:
    """`terms`, every token by the whole pattern."""
    found: list[str] = []
    for match in lexical._TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        if match["cjk"]:
            found.extend(lexical._bigrams(lexical.folded(match["cjk"])))
        else:
            found.extend(lexical._word_terms(match[0]) if match["word"] else [match[0].replace(",", "")])
    return found


def long_sentences(shown: str) -> list[str]:
    """The sentences of a text in one width, notes and ends looked for everywhere."""
    shown = " ".join(_NOTE.sub("", shown).translate(_QUOTES).split())
    return [part for part in (one.strip(_ENDS) for one in _SENTENCE.split(shown)) if part]


def long_english_slots(sentence: str) -> Iterator[Slot]:
    """`english_slots`, every form looked for."""
    sentence = NUMBER_WORDS.sub(lambda match: surface.FIGURES.get(match[0].lower(), match[0]), sentence)
    blocked = BLOCKED.search(sentence) is not None
    found = [(attribute, match, kind) for attribute, form, kind in RULES if (match := form.fullmatch(sentence))]
    be = BE.fullmatch(sentence)
    yield from english._ended(sentence, {word for form in FORMS for word in form.words}, be)
    if blocked:
        yield from english._over(found)
    yield from english._moved(sentence)
    yield from english._habit(sentence, be)
    if blocked:
        return
    said_new = re.search(r"\b[Nn]ow\b|\bnew\b", sentence) is not None
    for attribute, match, kind in found:
        if subject := english._subject(match["subject"]):
            yield from english._slot(attribute, subject, match, kind=kind, said_new=said_new)
    yield from english._status(sentence)
    yield from english._lasting(sentence)


@pytest.mark.parametrize("text", HARD)
def test_what_is_left_to_the_long_way_is_what_it_makes_of_it(text: str) -> None:
    shown = surface.plain(text)
    assert shown == long_plain(text)
    assert surface_key(text) == long_surface_key(text)
    assert _sentences(shown) == long_sentences(shown)
    assert lexical.terms(text) == long_terms(text)
    assert language._without_noise(text) == language._NOISE.sub(" ", text)


@pytest.mark.parametrize(
    ("sentence", "given"),
    [
        ("User has worked here for five years", "years of has worked here for #"),
        ("Ana got married", "status"),
        ("User's meeting is on Monday", "day"),
        ("User no longer lives in Porto", "home"),
        ("User would not live here, no longer lives in Porto", ""),
    ],
)
def test_what_a_sentence_gives_is_found_by_its_words(sentence: str, given: str) -> None:
    found = list(english.english_slots(sentence))
    assert found == list(long_english_slots(sentence))
    assert given in {slot.attribute for slot in found} or not given


def test_letters_of_its_own_tell_a_language_without_small_words() -> None:
    assert language._by_small_words(["größe"], {"de": 2}) == "de"


@given(texts)
def test_a_text_in_one_width_is_what_all_patterns_make_of_it(text: str) -> None:
    assert surface.plain(text) == long_plain(text)


@given(texts | st.text("aB.!?。！？() 2024-05（）~", max_size=20))
def test_sentences_end_where_the_whole_pattern_ends_them(text: str) -> None:
    shown = surface.plain(text)
    assert _sentences(shown) == long_sentences(shown)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map(" ".join))
def test_a_sentence_gives_what_it_gives_if_every_form_is_looked_for(sentence: str) -> None:
    assert list(english.english_slots(sentence)) == list(long_english_slots(sentence))


def test_a_letter_that_only_looks_like_one_of_a_number_is_no_number() -> None:
    assert slots("User has fıve cats and two dogs") == slots("User has fıve cats and 2 dogs")


@given(texts)
def test_the_key_of_a_text_is_what_the_whole_pattern_finds(text: str) -> None:
    assert surface_key(text) == long_surface_key(text)


@given(texts)
def test_the_terms_of_a_text_are_what_the_whole_pattern_finds(text: str) -> None:
    assert lexical.terms(text) == long_terms(text)


@given(texts | st.lists(st.sampled_from("a www.a.b [shared image] b:1 v2 user: 1:30 3 :x é ".split(" "))).map(" ".join))
def test_noise_goes_whether_or_not_its_signs_are_there(text: str) -> None:
    assert language._without_noise(text) == language._NOISE.sub(" ", text)


@given(st.lists(st.sampled_from("the de la und tea pivo été i'm".split()), max_size=6))
def test_a_language_is_that_of_most_small_words(words: list[str]) -> None:
    scores = {code: sum(word in small for word in words) for code, small in language.LATIN_WORDS.items()}
    best = max(scores, key=lambda code: scores[code])
    ascii_or_not = "en" if all(map(str.isascii, words)) else "und"
    assert language._by_small_words(words) == (best if scores[best] else ascii_or_not)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join(sorted(form.words)))
@settings(max_examples=25)
@given(st.data())
def test_what_has_a_form_has_one_of_its_words(form: Form, data: st.DataObject) -> None:
    assert form.words
    sentence = data.draw(st.from_regex(form._compiled, fullmatch=True))
    assert form.words.intersection(english._LETTERS.findall(sentence.lower())), sentence


@given(
    st.lists(st.sampled_from(sorted({word for form in FORMS for word in form.words})), max_size=3), st.text("ab .,'-")
)
def test_a_rule_is_tried_where_its_words_are(words: list[str], others: str) -> None:
    there = {*words, *others.split()}
    assert english._may_match(there) == [rule for rule in RULES if rule[1].words & there]
