"""How a list of sources is headed, in the languages in which reports are written."""

import re

# Compared as a whole, without numbers, marks and case: a section on "market sources" is none of these.
_HEADINGS = frozenset(
    heading.strip()
    for heading in """
    sources, source list, list of sources, sources cited, sources and references, sources & references,
    sources used, sources consulted, references, reference list, references and sources,
    references & sources, bibliography, works cited, citations, web sources, internal sources,
    quellen, quellenverzeichnis, quellenangaben, quellen und verweise, literatur, literaturverzeichnis,
    einzelnachweise, fuentes, fuentes consultadas, referencias, referencias bibliográficas, bibliografía,
    références, sources et références, références bibliographiques, bibliographie, fonti, riferimenti,
    bibliografia, fontes, referências, referências bibliográficas, bronnen, bronnenlijst, bronvermelding,
    referenties, källor, källförteckning, referenser, kilder, kildeliste, referanser, referencer, lähteet,
    viitteet, źródła, zdroje, reference, források, hivatkozások, surse, referințe, viri, izvori, източници,
    источники, список источников, список литературы, литература, джерела, список джерел, πηγές, αναφορές,
    kaynaklar, kaynakça, מקורות, المصادر, المراجع, منابع, स्रोत, संदर्भ, nguồn, nguồn tham khảo,
    tài liệu tham khảo, sumber, daftar pustaka, referensi, แหล่งที่มา, 来源, 来源列表, 资料来源, 參考資料,
    参考资料, 参考文献, 參考文獻, 資料來源, 引用来源, 出典, 参考資料, 情報源, 출처,
    참고문헌, 참고 문헌, 참고 자료
    """.replace("\n", " ").split(",")
)
_AROUND = re.compile(r"\A[\W\d_]+|[\W_]+\Z")
MAX_TITLE = 80  # what is longer says more than that


def is_source_heading(title: str) -> bool:
    """Whether a heading says that the sources follow."""
    if len(title) > MAX_TITLE:
        return False
    plain = _AROUND.sub("", title)
    return " ".join(plain.split()).casefold() in _HEADINGS
