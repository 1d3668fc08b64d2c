"""Prompts that need knowledge of here and now: a labelled list, written for this test, and what the filter makes of it.

The list is by the same hand as the patterns, so it tells what they are meant to do, not how they fare on what strangers say; a few
questions are meant to be too hard for rules.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.cleaning.needs_knowledge import NeedsKnowledge

ENGLISH = NeedsKnowledge("en")
CHINESE = NeedsKnowledge("zh")

NEEDS = {
    "weather": """
what's the weather like today|How's the weather?|how is the weather in boston|will it rain tomorrow
Is it going to snow this weekend?|is it raining right now|what's the temperature outside
how cold is it out there|do i need an umbrella today|give me the forecast for saturday
What will the weather be like in Oslo next week|is it hot there|weather tomorrow|think it'll storm tonight?
""",
    "time": """
what time is it|What's the time?|do you know what time it is|tell me the time please|what time is it in tokyo
do you have the time?|got the time?|what time does the library open|when does the pool close today
is the bakery still open now
""",
    "date": """
what day is it|what's the date today|What is today's date?|which day is it today|what year is it
is it friday yet?|how many days until christmas|when is easter this year
""",
    "place": """
where is the nearest petrol station|any good pizza places near me?|find me the closest pharmacy
is there a cinema around here?|how far is the airport from here|where am i|give me directions to the station
how do i get to the airport|what's a good restaurant nearby?|coffee near me
""",
    "traffic": """
how's the traffic|is there a lot of traffic on the bridge|when is the next bus|is my flight delayed
what time is the last train|how is traffic into the city this morning
""",
    "stocks": """
how is the stock market doing|what's the price of bitcoin right now|how are tech stocks doing today
did the market go up today|what's the share price of the bakery chain
""",
    "prices": """
how much does a new bike cost|how much are tickets?|what's the price of milk these days
how much is a return to leeds|how much does it cost to get in|what is the exchange rate for the pound
how much do those shoes go for
""",
    "news": """
what's in the news|any news today?|give me the headlines|what's the latest news on the strike
what's happening in the world today|tell me the news|read me the latest headlines
""",
    "scores": """
who won last night?|what's the score|did the rovers win yesterday|who is playing tonight?|when is the next match
what was the final score of the game|who won the game?|what time is the game on saturday|who's winning
""",
    "beyond rules": """
should i wear boots today|can i still catch the last one home|are they still in the lead|which lane is moving
what's on at the pictures tonight|is the shop shut
""",
}
DOES_NOT = """
time flies when you are having fun|what a time we had|what's the time signature of that song
the time machine is my favourite book|what time is it on that show with the clock|once upon a time
i love rainy days|weather the storm together|under the weather today|it was snowing in that scene
how was the weather in the book|i like cold weather more than hot|it never rains but it pours
what was your favourite film of the year|how much do you like jazz|how much do you love your cat
how much is too much|how much time do you spend reading|that cost me a fortune|how much did you pay for it
what's the best date you have been on|we went on a date|is it true that you sing|what day did you get married
dates are sweet|the score of that film is by a great composer|who won the argument|who won the world cup in 1966
did you win|i won a teddy bear|winning is not everything|do you play any games|what's your next holiday
no news is good news|i read the newspaper every day|the news made me sad|breaking things is fun
the paper headline was funny|what happened to your arm|near the end of the film|that was a near miss
my nearest and dearest|i live near the sea|is there anything you are afraid of|where are you from
how far would you go for a friend|where is the love|i work in a market|the stock was thick soup
do you share your food|stock up on snacks|traffic makes me angry|i was stuck in traffic for hours
the next bus was late so i walked|open the door|close your eyes|when do you close your eyes in a film
what do you think of gold jewellery|i train for marathons|flight attendants are kind
my flight was delayed last year|how long have you lived there|how long is that film|until tomorrow then
tell me a joke|tell me about yourself|what is your favourite season|do you like snow|is it good|is it a comedy
is it worth seeing|what do you do for a living|have you seen any films lately|what kind of music do you like
are you a robot|good morning|see you tomorrow|what's your name|which one do you prefer|how are you today
the price of fame|what's the cost of freedom|price is no object|the temperature of the oven matters
winter is coming|i need a coat for the winter|an umbrella term|hot in here|that is so cold
"""
NEEDS_IN_CHINESE = {
    "weather": "今天天气怎么样|明天会下雨吗|北京下雪了吗|外面冷不冷|"
    "查一下上海的天气|今天多少度|明天要带伞吗|这周末天气如何|今天 天气 怎么样",
    "time": "现在几点了|几点了|现在是什么时间|图书馆几点关门|超市几点开门|告诉我时间",
    "date": "今天几号|今天星期几|明天是什么节|距离开学还有几天|今年是哪一年|春节是哪天|今天 礼拜 几",
    "place": "附近有什么好吃的|最近的地铁站在哪|去机场怎么走|我现在在哪里|到火车站坐几路车|离这里多远|周边有没有药店",
    "traffic": "现在堵车吗|今天限行什么号|下一班车几点到|路况怎么样|飞机晚点了吗",
    "stocks": "今天股市怎么样|比特币现在多少钱|大盘涨了吗|黄金什么价",
    "prices": "苹果多少钱一斤|门票多少钱|这个怎么卖|现在油价多少|房价贵吗|汇率是多少|这 件 多少 钱",
    "news": "今天有什么新闻|最近有什么大事吗|播新闻|最新的新闻是什么|今天的头条是什么",
    "scores": "昨天谁赢了|比分是多少|今晚有比赛吗|下一场球什么时候|昨晚的比赛结果",
    "beyond rules": "出门要穿厚点吗|还赶得上末班吗|那家店关了没有呀",
}
DOES_NOT_IN_CHINESE = """
天气真好|我喜欢下雨天|下雪的时候很美|时间过得真快|都几点了还不睡|你几点睡觉|没时间|什么时候一起吃饭|今天很开心
今天是我生日|星期天去爬山|我在家里|你在哪里|你是哪里人|附近的人都很友好|怎么走到一起的|你一个月赚多少钱
花了我好多钱|你借我多少钱|钱不是万能的|价值观不同|房子很贵|新闻联播看腻了|我不看新闻|你赢了|输了也没关系
比赛很精彩|踢球去吗|股票赔光了|堵得慌|班长来了|我热爱生活|冷静一下|温度刚刚好|热水喝完了|今天好天气|明天见
最近怎么样|现在的年轻人|离我远点|带我去玩|几号都行|哪天有空|你猜我在哪|猜猜我在哪|好消息|开门大吉|关门放狗
多少有点失望|几岁了|你几岁|怎么卖萌|不知道说什么好|你是做什么工作的|晚安|谢谢你|你叫什么名字|我喜欢听音乐
看电影吗|好久不见|早上好
"""


def items(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split("|")]


def figures(part: NeedsKnowledge, needs: dict[str, str], does_not: str) -> tuple[float, float]:
    """Precision and recall over the lists."""
    asked = [text for texts in needs.values() for text in items(texts)]
    found = sum(bool(part.in_text(text)) for text in asked)
    wrongly = sum(bool(part.in_text(text)) for text in items(does_not))
    return found / (found + wrongly), found / len(asked)


def test_precision_and_recall_of_english() -> None:
    precision, recall = figures(ENGLISH, NEEDS, DOES_NOT)
    assert precision >= 0.97
    assert recall >= 0.9


def test_precision_and_recall_of_chinese() -> None:
    precision, recall = figures(CHINESE, NEEDS_IN_CHINESE, DOES_NOT_IN_CHINESE)
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize(("part", "needs"), [(ENGLISH, NEEDS), (CHINESE, NEEDS_IN_CHINESE)], ids=["english", "chinese"])
def test_what_is_found_has_the_right_kind(part: NeedsKnowledge, needs: dict[str, str]) -> None:
    kinds = [
        (hit.kind, kind)
        for kind, texts in needs.items()
        if kind != "beyond rules"
        for t in items(texts)
        for hit in part.in_text(t)
    ]
    assert sum(found == kind for found, kind in kinds) >= 0.95 * len(kinds)


def test_the_span_is_the_question() -> None:
    text = "Hello there, What time is it? I forgot."
    (hit,) = ENGLISH.in_text(text)
    assert text[hit.start : hit.end] == "What time is it"
    text = "你好 ， 今天 天气 怎么样 啊"
    (hit,) = CHINESE.in_text(text)
    assert text[hit.start : hit.end] == "天气 怎么样"


def test_chinese_is_looked_at_where_it_is_asked_for() -> None:
    assert list(ENGLISH.in_text("今天天气怎么样")) == []
    assert [hit.kind for hit in CHINESE.in_text("what time is it")] == ["time"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.sampled_from([*items(NEEDS["weather"]), *items(NEEDS_IN_CHINESE["weather"])]))
def test_spans_lie_in_the_text(before: str, question: str) -> None:
    text = f"{before} {question}"
    for part in (ENGLISH, CHINESE):
        for hit in part.in_text(text):
            assert hit.start is not None
            assert hit.end is not None
            assert 0 <= hit.start < hit.end <= len(text)


@pytest.mark.parametrize(
    "text", ["what " * 399, "how much is a " * 140, "any near me " * 160, "附近" * 999, "天气" * 999, "a" * 100_000]
)
def test_no_text_takes_long(text: str) -> None:
    CHINESE.in_text(text)
    ENGLISH.in_text(text)
