"""Where on the web a run may look: on which domains, and from the view of which place."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import Block
from idea_explorer.domain.names import split_names

MAX_DOMAINS = 50  # Anthropic refuses searches with long lists, without saying from which length on
_MAX_DOMAIN = 253  # DNS
_MAX_LABEL = 63
_MAX_PLACE = 100
DOMAIN_RULE = (
    "must be domains such as example.com, in ASCII and without https://, path, port or '*'"
)
NOT_BOTH = "Cannot use both 'allowed_domains' and 'blocked_domains'."
NOTHING_LEFT = (
    "the domains of this request and those that the operator allows leave none to look at"
)
BLOCKS_PART = "a blocked domain is part of an allowed one: allow the parts of it that are wanted"
LOCATION_RULE = "must look like city=Berlin, region=Berlin, country=DE, timezone=Europe/Berlin"


def check_domain(name: str) -> str:
    """A domain as the API takes it for searches and for pages alike: an entry with a path never matches
    a page. Other scripts are refused because their letters can look like ASCII ones. Raises ValueError."""
    domain = name.lower()
    labels = domain.split(".")
    is_domain = len(labels) > 1 and len(domain) <= _MAX_DOMAIN and all(map(_is_label, labels))
    if not is_domain or labels[-1].isdigit():
        raise ValueError(DOMAIN_RULE)
    return domain


def _is_label(label: str) -> bool:
    is_made_of_letters = label.isascii() and label.replace("-", "").isalnum()
    return is_made_of_letters and len(label) <= _MAX_LABEL and label.strip("-") == label


def check_domains(names: str) -> str:
    """A list of domains, separated by spaces or commas. Raises ValueError."""
    for name in split_names(names):
        check_domain(name)
    return names


def _check_country(code: str) -> str:
    if len(code) != 2 or not (code.isascii() and code.isalpha() and code.isupper()):
        raise ValueError("must be a country code of two capital letters, such as DE")
    return code


def _check_timezone(name: str) -> str:
    if not name.isascii() or not name.replace("/", "").replace("_", "").replace("-", "").isalnum():
        raise ValueError("must be a time zone such as Europe/Berlin")
    return name


def _whole_text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be a name on one line")
    return text


Domain = Annotated[str, AfterValidator(check_domain)]
Place = Annotated[str, Field(max_length=_MAX_PLACE), AfterValidator(_whole_text)]


class UserLocation(DomainModel, extra="forbid", frozen=True):
    """The place from whose view the web is searched."""

    city: Place | None = None
    region: Place | None = None
    country: Annotated[str, AfterValidator(_check_country)] | None = None
    timezone: Annotated[Place, AfterValidator(_check_timezone)] | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.given:
            raise ValueError("must have a city, region, country or timezone")
        return self

    @property
    def given(self) -> dict[str, str]:
        return {name: value for name, value in self if value is not None}


def parse_location(text: object) -> object:
    """The fields of `city=Berlin, country=DE`; anything but text is left as it is. Raises ValueError."""
    if not isinstance(text, str):
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise ValueError(LOCATION_RULE)
    return {name.strip(): value.strip() for name, _, value in pairs}


@dataclass(frozen=True, slots=True)
class WebScope:
    """The limits of one run. There is at most one list of domains, because the API takes only one; each
    covers its subdomains."""

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    user_location: UserLocation | None = None

    @property
    def has_domains(self) -> bool:
        return bool(self.allowed_domains or self.blocked_domains)

    def narrow(self, asked: "WebScope") -> "WebScope":
        """What both allow. Raises ValueError where that is nothing, or nothing that one list can say."""
        location = asked.user_location or self.user_location
        blocked = tuple(dict.fromkeys((*self.blocked_domains, *asked.blocked_domains)))
        ours, theirs = self.allowed_domains, asked.allowed_domains
        if not (ours or theirs):
            return WebScope((), blocked, location)
        both = [name for name in theirs if not ours or is_within(name, ours)]
        both += [name for name in ours if not theirs or is_within(name, theirs)]
        allowed = tuple(name for name in dict.fromkeys(both) if not is_within(name, blocked))
        if not allowed:
            raise ValueError(NOTHING_LEFT)
        if any(is_within(name, allowed) for name in blocked):
            raise ValueError(BLOCKS_PART)
        return WebScope(allowed, (), location)

    def permits(self, url: str) -> bool:
        try:
            host = (urlsplit(url).hostname or "").rstrip(".")
        except ValueError:
            return False
        if self.allowed_domains:
            return is_within(host, self.allowed_domains)
        return not is_within(host, self.blocked_domains)

    @property
    def domain_fields(self) -> Block:
        """For the definition of a server tool."""
        if self.allowed_domains:
            return {"allowed_domains": [*self.allowed_domains]}
        return {"blocked_domains": [*self.blocked_domains]} if self.blocked_domains else {}

    @property
    def search_fields(self) -> Block:
        """For web_search, the only tool that takes a location."""
        location = self.user_location
        if location is None:
            return self.domain_fields
        return {**self.domain_fields, "user_location": {"type": "approximate", **location.given}}


ANYWHERE = WebScope()


def is_within(host: str, domains: tuple[str, ...]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
