"""Cue words of the predicates in `reviewing`: regular expressions, English ones to stand between word bounds.

What a word hardly ever means otherwise is a cue by itself; the others are one only in the company that tells ("my
savings", "diagnosed with").
"""

from __future__ import annotations


def _any(lines: str) -> str:
    return "|".join(line.strip() for line in lines.strip().splitlines())


_WHOSE = "(?:my|her|his|their|our|your)"
_IS = "(?:am|is|are|was|were|been|be|feel|feels|felt|feeling|fell|fallen|i'm|you're|he's|she's|we're|they're)"

HEALTH = _any(rf"""
    diagnosed with|{_WHOSE} (?:diagnosis|symptoms?|illness|disease|immune system)|terminally ill|hospitali[sz]ed
    in (?:the )?hospital|surger(?:y|ies)|surgeon|(?:psycho|chemo|radio|physio)therap(?:y|ist|ists)|chemo|therapist
    (?:{_WHOSE}|the) (?:doctor|gp|psychiatrist|oncologist|dentist|cardiologist|gyna?ecologist)
    prescribed (?:me|her|him|them|us|you)|prescriptions?|medications?|antibiotics|antidepressants?|painkillers?
    insulin|blood (?:pressure|sugar|tests?)|vaccinat(?:ed|ion|ions)|flu shot|biops(?:y|ies)|dialysis|colonoscopy
    mri(?: scan)?|ct scan|ultrasound|diabet(?:es|ic)|(?<!a )cancer|leuka?emia|asthma|epilep(?:sy|tic)|migraines?
    arthritis|dementia|alzheimer's|parkinson's|hypertension|pneumonia|covid(?:-19)?|hiv|hepatitis|ana?emia|eczema
    psoriasis|(?:suffers?|suffering|suffered) from (?:depression|anxiety|insomnia)|clinical(?:ly)? depress(?:ion|ed)
    (?:anxiety|eating|bipolar) disorder|panic attacks?|anorexia|bulimia|insomnia|adhd|autis(?:m|tic)|ptsd
    schizophreni(?:a|c)|suicidal|self-harm|miscarriage|pregnant(?! pause)|pregnancy|ivf|allerg(?:y|ies)|allergic to
    chronic (?:pain|illness|fatigue)|(?:broke|broken|fractured|sprained) (?:{_WHOSE}|an?) (?:arm|leg|wrist|ankle|rib)
    (?:head|stomach|tooth|back|ear)aches?|heart (?:attack|disease|failure|condition)|had a stroke|kidney stones?
    (?:mental|physical) health|sick leave|food poisoning|(?:has|have|had|got|caught) (?:the )?flu|in rehab|overdosed
    {_IS} (?:very |really |quite |seriously |so )?(?:ill|unwell)|high fever
""")
"""About somebody's health."""

HEALTH_CHINESE = _any(r"""
    确诊|诊断(?:为|出|书)|住院|出院|动手术|做手术|手术后|化疗|放疗|高血压|血糖|糖尿病|癌|肿瘤|抑郁症|焦虑症|失眠|哮喘|过敏|怀孕|流产
    吃药|服药|处方药|抗生素|止痛药|疫苗|发烧(?!友)|感冒了|肺炎|新冠|心脏病|中风|(?<!打)骨折|体检|病历|偏头痛|癫痫|痴呆|关节炎
    自闭症|多动症|看病|看医生|看牙医|生病|病假|慢性病|心理咨询|心理医生|精神科|自杀|自残
""")

_SUM = r"\d[\d,.]*(?: ?(?:k|m|thousand|million|billion))?"
_CURRENCY = "(?:dollars|euros|pounds|yuan|usd|eur|gbp|rmb|cny|yen|francs)"
_ABOUT = "(?:about |around |over |almost |nearly )?"
_TO = "(?:me |her |him |them |us |you )?"

MONEY = _any(rf"""
    salar(?:y|ies)|{_WHOSE} (?:income|earnings|wages?|pension|savings|debts?|rent|bonus|taxes|inheritance)|mortgages?
    (?:annual|monthly|gross|net|household) income|overdraft|(?:student|car|home|bank|personal|payday) loans?|in debt
    debt collectors?|(?:owes?|owed) {_TO}(?:money|rent)|(?<!morally )bankrupt|bankruptcy|insolven(?:t|cy)
    pay (?:rise|cut)|pay ?(?:check|cheque|slip)s?|net worth|bank (?:account|balance|statement)s?
    credit (?:card|score|limit|rating)s?
    (?:savings|checking|brokerage|retirement) accounts?|debit cards?|iban|account number|sort code|routing number
    tax (?:return|refund|bill|bracket|debt)s?|income tax|unemployment benefits?|child support|alimony|stock portfolio
    invest(?:ed|s|ing|ments?) in (?:stocks?|shares|bonds|bitcoin|crypto|index funds?|etfs?)
    (?:earns?|earned|earning|pays?|paid|paying|owes?|owed|saved?|lent|borrowed) {_TO}{_ABOUT}[$€£¥] ?{_SUM}
    (?:earns?|earned|earning|pays?|paid|paying|owes?|owed|saved?|lent|borrowed) {_TO}{_ABOUT}{_SUM} {_CURRENCY}
    {_SUM} {_CURRENCY} (?:a|per|each|every) (?:hour|day|week|month|year)
""")
"""About somebody's money."""

MONEY_CHINESE = _any(r"""
    工资|薪水|薪资|月薪|年薪|收入(?![囊眼其])|房贷|车贷|贷款|欠款|欠了?钱|欠债|负债|债务|破产|存款|银行卡|银行账户|信用卡|花呗|报税
    所得税|退税|养老金|退休金|公积金|炒股|股票|理财产品|投资理财|年终奖|抚养费|赡养费|(?<![化界然])遗产|存折
    (?:赚|挣|花|付|欠|借|存|还|亏)了?[^，。！？\d]{0,6}\d[\d,.]* ?[万千百]?(?:元|块|人民币|美元)
""")
