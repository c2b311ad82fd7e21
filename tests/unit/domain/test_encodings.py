import random

import pytest

from idea_explorer.domain.encodings import guess_codec

RUSSIAN = (
    "В этом году пасека дала больше мёда, чем в прошлом. Цена выросла до ста рублей за килограмм."
)
GREEK = "Το μέλι αυτής της χρονιάς είναι καλύτερο από το περσινό, και η τιμή του ανέβηκε."
POLISH = (
    "Pszczoły na dachu przyniosły w tym roku więcej miodu niż rok wcześniej, mówi właściciel łąki."
)
GERMAN = "Die Bienen auf dem Dach brachten dieses Jahr mehr Honig; für Gläser zahlte man größere Beträge."
FRENCH = "L’année a été généreuse : le miel récolté à côté de l’église dépassait déjà celui d’août."
JAPANESE = "今年の蜂蜜は去年よりも多く、値段も上がりました。屋上の養蜂はとても人気があります。"
KOREAN = "올해는 작년보다 꿀이 더 많이 나왔고 가격도 올랐습니다. 옥상 양봉은 인기가 많습니다."
SIMPLIFIED = "今年的蜂蜜比去年多，价格也上涨了。我们在屋顶上养蜂，这个工作对大家都有好处。"
TRADITIONAL = "今年的蜂蜜比去年多，價格也上漲了。我們在屋頂上養蜂，這個工作對大家都有好處。"
CZECH = "Včely na střeše přinesly letos více medu než loni, říká majitel louky; cena však stoupla příliš."
HUNGARIAN = "A méhek idén több mézet hoztak, mint tavaly; a tetőn lévő kaptárak gyűjtése sikerült."
TURKISH = "Bu yıl çatıdaki arılar geçen yıldan daha çok bal getirdi; şimdi fiyatı da yükseldi, değil mi? İyi."
SPANISH = "Este año las abejas trajeron más miel que el año pasado, según el dueño; el precio también subió."
PORTUGUESE = (
    "Este ano as abelhas não deram tanto mel; o preço subiu e as previsões são más, três até."
)
SWEDISH = (
    "Bina på taket gav mer honung i år än förra året, säger ägaren; priset har också gått upp."
)
DANISH = (
    "Bierne på taget gav mere honning i år end før; ejeren siger, at prisen også er højere, måske."
)
ICELANDIC = (
    "Býflugurnar á þakinu gáfu meira hunang í ár en í fyrra; verðið hækkaði líka, sagði eigandinn."
)
LITHUANIAN = (
    "Šiais metais bitės ant stogo atnešė daugiau medaus nei pernai, sako savininkas; kaina išaugo."
)
LATVIAN = (
    "Šogad bites uz jumta atnesa vairāk medus nekā pērn, saka īpašnieks; arī cena pieauga, ļoti."
)
HEBREW = "השנה היה יותר דבש מאשר בשנה שעברה, והמחיר עלה. הדבורים על הגג מביאות שמחה לכולם."
NOISE = random.Random(1).randbytes(4_096).replace(b"\0", b"")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "latin-1"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
        (FRENCH, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (GREEK, "cp1253"),
        (POLISH, "cp1250"),
        (POLISH, "iso-8859-2"),
        (CZECH, "cp1250"),
        (CZECH, "iso-8859-2"),
        (HUNGARIAN, "cp1250"),
        (TURKISH, "cp1254"),
        (TURKISH[:40], "cp1254"),
        (GERMAN, "cp850"),
        (FRENCH.replace("’", "'"), "cp850"),
        (SPANISH, "cp850"),
        (SPANISH, "cp1252"),
        (PORTUGUESE, "cp1252"),
        (SWEDISH, "cp1252"),
        (DANISH, "cp1252"),
        (DANISH, "cp850"),
        (ICELANDIC, "cp1252"),
        (LITHUANIAN, "cp1257"),
        (LATVIAN, "cp1257"),
        (f"{GERMAN} {FRENCH} {SPANISH} {DANISH}", "cp1252"),
        ("The years 2019–2020 were good – as “they” say; don’t ask… a 5” pipe • 20 °C", "cp1252"),
        ("Sales rose – by 3 % – again.", "cp1252"),
        ("Prices: 20 € or £5 · ½ cup ± 1", "cp1252"),
        ("Er sagte: „Größe zählt“ – und … schwieg.", "cp1252"),
        (HEBREW, "cp1255"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        (KOREAN, "cp949"),
        (SIMPLIFIED, "gb18030"),
        (TRADITIONAL, "big5"),
    ],
)
def test_text_is_read_as_it_was_written(text: str, encoding: str) -> None:
    written = text.encode(encoding)

    assert written.decode(guess_codec(written)) == text


@pytest.mark.parametrize(
    "source",
    [
        "// Prüft die Größe\nint main(void) { return 0; }\n",
        "x = 'é'",
        "name;city\nJosé;Málaga\n",
        "Äpfel",
    ],
)
def test_a_few_letters_of_latin_1_are_enough(source: str) -> None:
    assert guess_codec(source.encode("latin-1")) == "cp1252"


def test_utf_8_is_never_taken_for_anything_else() -> None:
    for text in (RUSSIAN, JAPANESE, GERMAN, "plain", ""):
        assert guess_codec(text.encode()) == "utf-8"


def test_letters_far_into_a_file_count() -> None:
    written = b"plain text\n" * 20_000 + GERMAN.encode("latin-1")
    assert written.decode(guess_codec(written)).endswith(GERMAN)


@pytest.mark.parametrize("data", [bytes(range(128, 256)) * 4, b"\xff\xfa\xfb", NOISE])
def test_bytes_that_make_no_words_have_no_encoding(data: bytes) -> None:
    assert guess_codec(data) == ""
