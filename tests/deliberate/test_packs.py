"""What people ask for, in their own words (behaviour 8, rule 2), and what they do not."""

from __future__ import annotations

import pytest

from activities.deliberate import TARGETS, is_memory_intent
from activities.deliberate.intents import intents_of
from activities.deliberate.matching import Reading
from activities.deliberate.packs import PACKS
from activities.deliberate.targets import Target

ASKED = {
    Target.IMAGE: [
        "draw me a cat",
        "can you draw?",
        "please generate an image of the sea",
        "make me a really colourful picture of a fox",
        "send a selfie",
        "猫の絵を描いて",
        "イラストを生成してほしい",
        "desenha um gato pra mim",
        "gera uma imagem de um dragão",
        "dibuja un gato",
        "Créame una imagen de un dragón",
    ],
    Target.VIDEO: [
        "generate a short video of a dog",
        "animate this please",
        "犬の動画を作って",
        "cria um vídeo de um cachorro",
        "genera un video de un perro",
    ],
    Target.VOICE: [
        "send me a voice-message",
        "say it out loud",
        "sing us a song",
        "ボイスメッセージ送って",
        "歌って",
        "manda um áudio",
        "mándame un audio",
        "canta una canción",
    ],
    Target.REMINDER: [
        "remind me in 5 minutes",
        "**Remind** me, please",
        "ping me in 10min",
        "set an alarm for 7am",
        "schedule it for tomorrow",
        "wake me up at 6",
        "dont let me forget the milk",
        "tell everyone good night every evening",
        "5分後に教えて",
        "明日の朝起こして",
        "リマインドお願い",
        "me lembra de comprar leite",
        "daqui a 10 minutos me avisa",
        "cria um lembrete",
        "recuérdame comprar leche",
        "recuerdame en 10 minutos",
        "pon una alarma a las 7",
    ],
    Target.CROSS_CHANNEL: [
        "go to <#123456> and say hi",
        "say hello in the general channel",
        "check what they say in <#123456>",
        "別のチャンネルで聞いて",
        "vai no canal geral e fala oi",
        "ve al canal general y saluda",
    ],
    Target.SEARCH: [
        "search the web for tea",
        "google it",
        "can you look it up?",
        "what's the latest python version",
        "any news about the launch?",
        "what’s the weather in Paris",
        "最新のニュース",
        "ググって",
        "ちょっと調べて",
        "pesquisa na internet sobre chá",
        "qual a previsão do tempo",
        "busca en internet",
        "búscalo por favor",
    ],
    Target.MEMORY: [
        "remember I like tea",
        "forget what I told you",
        "what do you know about me?",
        "覚えておいて",
        "lembre-se que eu gosto de chá",
        "recuerda que me gusta el té",
    ],
    Target.MEDIA_ANALYSIS: [
        "summarize this pdf",
        "what's in that picture?",
        "read the attached file",
        "look at my screenshot",
        "この画像を説明して",
        "PDFを要約して",
        "resume esse arquivo",
        "o que tem nessa imagem?",
        "lee este archivo",
        "¿qué hay en esta foto?",
    ],
    Target.MESSAGE_ACTION: [
        "pin that",
        "delete your last message",
        "react to this with a heart",
        "when was that message sent?",
        "ピン留めして",
        "さっきのメッセージを消して",
        "fixa essa mensagem",
        "apaga a última mensagem",
        "fija este mensaje",
        "borra tu último mensaje",
    ],
    Target.USER_BLOCKING: [
        "mute <@123456>",
        "stop talking to him",
        "ignore that guy",
        "あいつをブロックして",
        "bloqueia ele",
        "bloquea a @user",
    ],
    Target.USER_INFO: [
        "my pronouns are she/her",
        "my timezone is CET",
        "you can call me Sam",
        "太郎って呼んで",
        "me chama de Sam",
        "llámame Sam",
    ],
    Target.THREAD: [
        "open a new thread",
        "let's move this to a thread",
        "スレッド立てて",
        "cria um tópico",
        "abre un hilo sobre esto",
    ],
    Target.CAPABILITIES: [
        "what can you do?",
        "list your commands",
        "何ができるの?",
        "o que você pode fazer?",
        "¿qué puedes hacer?",
        "are you broken?",
        "por qué no respondes?",
        "você tá bugado?",
    ],
}

NOT_ASKED = [
    "good morning",
    "set the table",
    "what time is it?",
    "time flies",
    "I had a good time at the set",
    "draw your own conclusion",
    "the image was nice",
    "let's watch a video tonight",
    "I lost the thread of this",
    "this blocks the road",
    "I heard a voice",
    "he is a bit mute",
    "my memory card is full of photos",
    "on a side note, tea is nice",
    "notebook",
    "he forgot",
    "the news was sad",
    "I googled",
    "research",
    "<:remind_me:123456>",
    "<a:search_the_web:123456> lol",
    "https://example.org/remind-me/search-the-web",
    "おはようございます",
    "時間がない",
    "今日は楽しかった",
    "忘れてた",
    "bom dia, tudo bem?",
    "que horas são?",
    "não tenho tempo",
    "buenos días, ¿qué tal?",
    "¿qué hora es?",
    "no tengo tiempo",
    "una imagen vale más que mil palabras",
]


def asked(text: str) -> set[str]:
    return set(intents_of(Reading(text)).targets)


@pytest.mark.parametrize(
    ("target", "text"), [(target, text) for target, texts in ASKED.items() for text in texts]
)
def test_asked(target: Target, text: str) -> None:
    assert target in asked(text)


@pytest.mark.parametrize("text", NOT_ASKED)
def test_not_asked(text: str) -> None:
    assert intents_of(Reading(text)).targets == {}


def test_case_width_accents_and_markup_do_not_matter() -> None:
    for text in (
        "REMIND ME",
        "ｒｅｍｉｎｄ　ｍｅ",
        "__remind__ *me*",
        "re\u200bmind me",
        "rémind me",
    ):
        assert Target.REMINDER in asked(text), text


def test_every_language_knows_every_target() -> None:
    for pack in PACKS:
        assert set(pack.intents) == set(TARGETS)


@pytest.mark.parametrize(
    "text",
    [
        "remember I like tea",
        "REMEMBER: tea",
        "ｒｅｍｅｍｂｅｒ tea",
        "don't forget I like tea",
        "don’t forget it!",
        "note that I like tea",
        "please commit this to memory",
        "for future reference, I like tea",
        "お茶が好きって覚えておいて",
        "お茶が好き、忘れないで",
        "lembre-se que gosto de chá",
        "nao esqueca: gosto de chá",
        "recuerda que me gusta el té",
        "no olvides que me gusta el té",
    ],
)
def test_memory_is_wished_for(text: str) -> None:
    """C094."""
    assert is_memory_intent(text)
    assert Target.MEMORY in asked(text)


@pytest.mark.parametrize(
    "text",
    ["", "I like tea", "notebook", "a dismembered rememberer", "忘れてた", "esqueci", "lo olvidé"],
)
def test_memory_is_not_wished_for(text: str) -> None:
    assert not is_memory_intent(text)
