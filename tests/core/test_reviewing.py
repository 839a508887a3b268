"""Ready-made predicates: what they put under review, and what they leave alone."""

from __future__ import annotations

import pytest

from memreader.items import TextualMemoryItem
from memreader.reviewing import any_of, checked_review, health, low_confidence, money, under_review

OF_HEALTH = """
    I was diagnosed with type 2 diabetes last year.
    user: My therapist says I should sleep more.
    Ana is allergic to peanuts.
    She had surgery on her knee in May.
    Eva is pregnant.
    She’s ill, again.
    He takes antidepressants every morning.
    My blood pressure is too high again.
    They vaccinated the children on Monday.
    I broke my wrist skiing.
    Dad had a heart attack in 2019.
    I'm ill and stay at home.
    She has been seriously unwell since March.
    The doctor prescribed me something new.
    I get migraines when it rains.
    我上周确诊了糖尿病。
    她下个月要做手术。
    他昨天发烧了，没去上班。
    妈妈对花生过敏。
    我怀孕三个月了
    他得了肺癌。
""".strip().splitlines()
NOT_OF_HEALTH = """
    I am sick of this traffic.
    They live in the heart of the city.
    That video went viral.
    The team diagnosed the network outage quickly.
    What a healthy debate that was.
    My sister studies medicine in Vienna.
    Pain au chocolat is her favourite breakfast.
    She is a Cancer, and he is a Leo.
    There was a pregnant pause before he answered.
    It rained cats and dogs, an ill wind indeed.
    He is a Doctor Who fan.
    The company treats its customers well.
    The patient fisherman waited all day.
    He broke the record and my heart.
    他是个音响发烧友。
    这家店打骨折促销。
    医学院离这里很远。
    我们讨论了诊断工具的代码。
    他的心很大。
    今天的天气让人舒服。
""".strip().splitlines()
OF_MONEY = """
    My salary went up by ten percent.
    She earns $95,000 at the new job.
    He owes me 200 dollars.
    I'm still in debt from university.
    We took out a mortgage in June.
    Her credit score dropped.
    They pay 1,400 euros per month for the flat.
    I borrowed £300 from Ben.
    My savings are almost gone.
    user: I filed my tax return yesterday.
    He invested in bitcoin two years ago.
    Eva declared bankruptcy.
    Her student loans are paid off.
    I saved about 5k dollars this year.
    我的月薪是一万五。
    他还有三十年的房贷。
    她欠我500块。
    我把存款都花光了。
    他买的股票跌了。
    公司发了年终奖。
""".strip().splitlines()
NOT_OF_MONEY = """
    We walked along the river bank.
    I give credit to my team.
    She took that into account.
    He owes me an apology.
    Time is money, they say.
    I lost 5 pounds since January.
    The class inheritance in that code is too deep.
    He is morally bankrupt.
    The museum ticket costs 12 dollars.
    I have 3 cats and 2 dogs.
    She pays attention in class.
    It is a rich and creamy soup.
    Save the date: we marry in June.
    His interest in birds is new.
    They saved 20 whales.
    长城是世界遗产。
    这里的美景尽收入眼底，收入囊中。
    门票30元。
    他对音乐很有兴趣。
    银行旁边有家咖啡馆。
""".strip().splitlines()


def holds(predicate: object, text: str) -> bool:
    assert callable(predicate)
    return bool(predicate(TextualMemoryItem(memory=text.strip())))


@pytest.mark.parametrize("text", OF_HEALTH)
def test_words_about_health_are_put_under_review(text: str) -> None:
    assert holds(health(), text)


@pytest.mark.parametrize("text", NOT_OF_HEALTH)
def test_words_that_only_look_like_health_are_not(text: str) -> None:
    assert not holds(health(), text)


@pytest.mark.parametrize("text", OF_MONEY)
def test_words_about_money_are_put_under_review(text: str) -> None:
    assert holds(money(), text)


@pytest.mark.parametrize("text", NOT_OF_MONEY)
def test_words_that_only_look_like_money_are_not(text: str) -> None:
    assert not holds(money(), text)


@pytest.mark.parametrize("text", [*NOT_OF_HEALTH[:14], *OF_HEALTH[:5]])
def test_money_and_health_are_told_apart(text: str) -> None:
    assert not holds(money(), text)


def test_cues_are_whole_words() -> None:
    assert not holds(health(), "The hivemind of a beehive-like ADHDoc")
    assert not holds(money(), "An unsalaryed salarymanship")
    assert holds(health(), "ADHD.")
    assert holds(money(), "SALARY!")


def test_there_are_sentences_enough_on_either_side() -> None:
    assert min(map(len, (OF_HEALTH, NOT_OF_HEALTH, OF_MONEY, NOT_OF_MONEY))) >= 20


def test_confidence_is_compared_with_the_bound() -> None:
    unsure = low_confidence(below=0.5)
    made = [TextualMemoryItem(memory="x", metadata={"confidence": value}) for value in (0.0, 0.49, 0.5, 1.0)]
    assert [unsure(item) for item in made] == [True, True, False, False]
    assert not unsure(TextualMemoryItem(memory="nobody said how sure"))


@pytest.mark.parametrize("below", [0, -1, 1.1, float("nan")])
def test_a_bound_that_makes_no_sense_is_refused(below: float) -> None:
    with pytest.raises(ValueError, match="below"):
        low_confidence(below=below)


def test_any_of_none_holds_nowhere() -> None:
    assert not holds(any_of(), "My salary, my diabetes")
    assert holds(any_of(health(), money()), "My salary")
    assert holds(any_of(health(), money()), "my diabetes")


def test_what_is_no_review_is_refused() -> None:
    with pytest.raises(TypeError, match="review"):
        checked_review("yes")  # type: ignore[arg-type]
    assert checked_review(None, True) is True
    assert checked_review(False, True) is False


def test_an_item_is_put_under_review_without_being_changed_itself() -> None:
    item = TextualMemoryItem(memory="tea")
    assert under_review(item, False) is item
    assert under_review(item, lambda one: one.memory == "tea").metadata.status == "pending"
    assert under_review(item, False, also=True).metadata.status == "pending"
    assert item.metadata.status == "activated"
