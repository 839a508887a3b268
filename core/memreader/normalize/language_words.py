"""What tells languages apart: grammar characters, small words, and the letters of scripts."""

from __future__ import annotations

import re

HAN_GRAMMAR = frozenset(
    "的了是在我你您他她它们們这那這哪个個不也就都和跟把被给給对對从從说說吗嗎呢吧啊嘛着没沒有还還要会會能想去来來很用比让讓为為什么麼怎但因所以"
)
"""Characters of grammar rather than of names and terms."""

CHINESE_ONLY = frozenset("的了我你您他她它们們这這哪个個吗嗎呢吧啊嘛着没沒还還很让讓说說么麼怎给給")
"""Those of them that are rare in Japanese."""

_SMALL_WORDS = {
    "en": (
        "the a an and or but of to in on at for with from by is are was were be been am it this that these those "
        "i you he she we they me my your his her our their not no do does did have has had will would can could "
        "should what when where who how why if so just about there it's i'm don't that's yes hi hello thanks "
        "please like as up out"
    ),
    "es": (
        "el la los las un una y o pero de del en con por para que es son fue era soy está están yo tú él ella mi "
        "su me te se no sí lo le al como más muy también qué cuando donde hola gracias tengo tiene hay este esta "
        "ayer hoy"
    ),
    "fr": (
        "le la les un une des et ou mais de du en dans avec pour par que qui est sont était je tu il elle nous "
        "vous ils mon ma mes ton sa ses son ce cette ne pas se me te au aux j'ai c'est suis plus très bien oui "
        "non bonjour merci hier sur à l'on qu'il d'un d'une où"
    ),
    "de": (
        "der die das den dem ein eine einen einem und oder aber von zu im in mit für auf ist sind war bin ich du "
        "er sie es wir ihr mein meine mich mir dich nicht kein auch noch nur schon sehr wie was wenn wo ja nein "
        "hallo danke habe hat gestern heute nach bei aus dass zum zur am"
    ),
    "pt": (
        "o a os as um uma e ou mas de do da dos das em no na nos nas com por para que é são foi era eu você ele "
        "ela nós meu minha seu sua me se não sim mais muito também como quando onde olá obrigado obrigada tenho "
        "tem está ontem hoje ao"
    ),
    "it": (
        "il lo la i gli le un uno una e o ma di del della dei in nel nella con per che è sono era io tu lui lei "
        "noi mio mia suo sua mi ti si non sì più molto anche come quando dove ciao grazie ho ha questo questa "
        "ieri oggi al alla da"
    ),
    "nl": (
        "de het een en of maar van in op met voor is zijn was ben ik jij je hij zij wij we mijn jouw me niet geen "
        "ook nog wel heel hoe wat als waar ja nee hallo dank heb heeft gisteren naar bij uit dat deze dit te om "
        "aan"
    ),
    "sv": (
        "en ett och eller men av i på med för är var jag du han hon vi ni min mitt din mig dig inte ingen också "
        "hur vad när om ja nej hej tack har hade igår att det den de som till från"
    ),
    "pl": (
        "i w z na do od za o po jest są był była ja ty on ona my wy mój moja mnie nie tak czy ale lub jak co "
        "gdzie kiedy się to ten ta też już bardzo dziękuję cześć wczoraj mam ma że dla"
    ),
    "tr": (
        "ve veya ama bir bu şu o ben sen biz siz onlar benim senin için ile de da ki mi mı çok var yok değil evet "
        "hayır merhaba teşekkürler dün gibi daha ne nasıl nerede"
    ),
    "vi": (
        "tôi bạn anh chị em là và của có không đã đang sẽ ở trong với cho này đó một những các rất cũng được như "
        "gì nào hôm qua xin chào cảm ơn"
    ),
    "id": (
        "yang dan atau tapi di ke dari untuk dengan ini itu adalah saya aku kamu dia kami kita mereka tidak bukan "
        "ada sudah akan bisa sangat juga apa kapan kemarin terima kasih halo pada"
    ),
}
LATIN_WORDS: dict[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _SMALL_WORDS.items()}
"""Small words by language; English stands first."""

SMALL_WORDS = frozenset().union(*LATIN_WORDS.values())

LATIN_LETTERS = {
    "es": "ñ¿¡",
    "de": "ß",
    "pt": "ãõ",
    "sv": "å",
    "pl": "łąęśćźż",
    "tr": "ğış",
    "vi": "ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệịọốồổỗộớờởỡợụủứừửữự",
}
"""Letters that point to one of these languages."""

SCRIPTS: dict[str, tuple[re.Pattern[str], float]] = {
    code: (re.compile(f"[{letters}]+" if spaced else f"[{letters}]"), 1.5 if spaced else 0.4)
    for code, letters, spaced in (
        ("ru", "\u0400-\u052f", True),
        ("el", "\u0370-\u03ff\u1f00-\u1fff", True),
        ("he", "\u0590-\u05ff", True),
        ("ar", "\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc", True),
        ("hi", "\u0900-\u0963\u0970-\u097f", True),
        ("bn", "\u0980-\u09e5\u09f0-\u09ff", True),
        ("pa", "\u0a00-\u0a65\u0a70-\u0a7f", True),
        ("gu", "\u0a80-\u0ae5", True),
        ("ta", "\u0b80-\u0be5", True),
        ("te", "\u0c00-\u0c65", True),
        ("kn", "\u0c80-\u0ce5", True),
        ("ml", "\u0d00-\u0d65", True),
        ("si", "\u0d80-\u0de5", True),
        ("hy", "\u0530-\u058f", True),
        ("ka", "\u10a0-\u10ff", True),
        ("am", "\u1200-\u137f", True),
        ("th", "\u0e01-\u0e4e", False),
        ("lo", "\u0e80-\u0ecf", False),
        ("my", "\u1000-\u103f", False),
        ("km", "\u1780-\u17df", False),
    )
}
"""By the script's most spoken language: its words (its characters, where words have no spaces), and what one weighs."""

OWN_LETTERS = {"ru": (("uk", "іїєґІЇЄҐ", "ыэъёЫЭЪЁ"),), "ar": (("ur", "ٹڈڑےں", ""), ("fa", "پچژگ", ""))}
"""Other languages of a script: their own letters, and letters they don't have."""
