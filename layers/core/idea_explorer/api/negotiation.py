"""What a request's headers say about the response: which codings are read, and which version is known."""


def accepts_gzip(accepted: str) -> bool:
    """By an Accept-Encoding header. A coding whose weight is 0, or no number, is not read."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        coding, *parameters = (word.strip() for word in part.split(";"))
        weights[coding] = _weigh(parameters)
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _weigh(parameters: list[str]) -> float:
    given = next((text for text in parameters if text.startswith("q=")), "q=1")
    try:
        return float(given.removeprefix("q="))
    except ValueError:
        return 0.0


def is_known(etag: str, known: str) -> bool:
    """By an If-None-Match header, whose comparison is weak: a tag and its weak form are the same."""
    tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
    return tags == ["*"] or etag.removeprefix("W/") in tags
