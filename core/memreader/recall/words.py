"""Closed word lists of English that decide which words carry content, and what their base form is.

Function words and irregular forms are facts of the language; nothing here comes from any benchmark.
"""

STOP_WORDS = frozenset(
    """
    a an the this that these those some any each every both either neither such
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one ones
    am is are was were be been being do does did doing done have has had having
    will would shall should can could may might must ought
    and or but nor so if then than because as while of at by for with about against between into through
    to from in on out off over under again further up down
    who whom whose which what when where why how
    here there all more most other own same too very just also not no only get got getting gotten gets
    ain aren couldn didn doesn don hadn hasn haven isn let ll mightn mustn needn re s shan shouldn t ve wasn weren won
    wouldn d m o y
    """.split()
)
"""Articles, pronouns, auxiliaries, prepositions, question words, and what contractions leave behind."""

ASKING_WORDS = frozenset(
    """
    kind type sort name many much long often way thing time mention according specific particular share discuss describe
    recent recently currently different various another
    """.split()
)
"""Words that say how something is asked for: an answer seldom holds them, and much that is no answer does."""

CJK_FUNCTION_CHARACTERS = "的了吗呢吧啊呀哦嗯是什甚我你您妳他她它牠祂们么怎哪谁这那和与就都也"
"""Chinese particles, pronouns and question characters, `folded`: a bigram across one of them says nothing."""

_IRREGULAR = """
    arise:arose,arisen awake:awoke,awoken bear:bore,borne beat:beaten become:became begin:began,begun bend:bent
    bet:bets bind:bound bite:bit,bitten bleed:bled blow:blew,blown break:broke,broken breed:bred bring:brought
    build:built burn:burnt buy:bought catch:caught choose:chose,chosen cling:clung come:came creep:crept deal:dealt
    dig:dug draw:drew,drawn dream:dreamt drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feed:fed
    feel:felt fight:fought find:found flee:fled fly:flew,flown forbid:forbade,forbidden forget:forgot,forgotten
    forgive:forgave,forgiven freeze:froze,frozen get:got,gotten give:gave,given go:went,gone grind:ground
    grow:grew,grown hang:hung hear:heard hide:hid,hidden hold:held keep:kept kneel:knelt know:knew,known lay:laid
    lead:led lean:leant learn:learnt leave:left lend:lent lie:lain light:lit lose:lost make:made mean:meant meet:met
    mistake:mistook,mistaken overcome:overcame pay:paid prove:proven ride:rode,ridden ring:rang,rung rise:rose,risen
    run:ran say:said see:saw,seen seek:sought sell:sold send:sent sew:sewn shake:shook,shaken shine:shone shoot:shot
    show:shown shrink:shrank,shrunk sing:sang,sung sink:sank,sunk sit:sat sleep:slept slide:slid speak:spoke,spoken
    spend:spent spin:spun stand:stood steal:stole,stolen stick:stuck sting:stung strike:struck,stricken
    strive:strove,striven swear:swore,sworn sweep:swept swim:swam,swum swing:swung take:took,taken teach:taught
    tear:tore,torn tell:told think:thought throw:threw,thrown understand:understood wake:woke,woken wear:wore,worn
    weave:wove,woven weep:wept win:won wind:wound withdraw:withdrew,withdrawn write:wrote,written child:children
    man:men woman:women person:people foot:feet tooth:teeth goose:geese mouse:mice wife:wives knife:knives
    half:halves shelf:shelves wolf:wolves loaf:loaves good:better,best bad:worse,worst
"""

BASE_FORMS: dict[str, str] = {
    form: base for base, forms in (entry.split(":") for entry in _IRREGULAR.split()) for form in forms.split(",")
}
"""Irregular English form -> base form. A form that is commoner as a regular verb (lives, leaves) is none."""
