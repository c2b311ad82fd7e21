"""What a validator found, in the words of a person who does not know the validator."""

from collections.abc import Mapping

from pydantic import ValidationError

# by the kind of finding; the placeholders are the finding's own limits
RULES = {
    "missing": "is missing",
    "extra_forbidden": "unknown field",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of: {expected}",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length:,} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "json_invalid": "is not JSON",
}
SHAPES = {
    "repository": "must look like owner/name",
    "GITHUB_REPOSITORY": "must look like owner/name",
    "ref": "must be a branch, a tag or a commit",
    "mode": "must be a short name in small letters",
}


def findings(error: ValidationError, *, within: str = "") -> dict[str, str]:
    """The first finding of each field, without echoing any value; "" is the whole. The fields of
    `within` are named as if they stood at the top."""
    found: dict[str, str] = {}
    for finding in error.errors(include_url=False, include_input=False):
        path = [str(part) for part in finding["loc"]]
        path = path[1:] if path[:1] == [within] else path
        where, name = ".".join(path), next(iter(path), "")
        rule = _rule(finding["type"], name, finding["msg"], finding.get("ctx", {}))
        found.setdefault(name, rule if where == name else f"{rule} ({where})")
    return found


def _rule(kind: str, name: str, message: str, limits: Mapping[str, object]) -> str:
    if kind == "string_pattern_mismatch" and name in SHAPES:
        return SHAPES[name]
    if limits.get("field_type") == "Value":
        kind = f"string_{kind}"  # so says the validator of a text that has a rule of its own too
    limits = {
        key: int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        for key, limit in limits.items()
    }
    if rule := RULES.get(kind):
        return rule.format(**limits).replace("'", "")
    return message.removeprefix("Value error, ")
