"""Validation errors in plain words, for people who do not know pydantic."""

from collections.abc import Mapping

from pydantic import ValidationError

# by pydantic's error type; the placeholders are the limits in its context
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
    "mode": "must be a short lower-case name",
}


def describe_errors(error: ValidationError, *, within: str = "") -> dict[str, str]:
    """The first error of each field, by name, without repeating any value; "" is the whole input. The
    fields of `within` count as top-level fields."""
    rules: dict[str, str] = {}
    for detail in error.errors(include_url=False, include_input=False):
        path = [str(part) for part in detail["loc"]]
        path = path[1:] if path[:1] == [within] else path
        where, name = ".".join(path), next(iter(path), "")
        rule = _describe(detail["type"], name, detail["msg"], detail.get("ctx", {}))
        rules.setdefault(name, rule if where == name else f"{rule} ({where})")
    return rules


def _describe(kind: str, name: str, message: str, limits: Mapping[str, object]) -> str:
    if kind == "string_pattern_mismatch" and name in SHAPES:
        return SHAPES[name]
    if limits.get("field_type") == "Value":
        kind = f"string_{kind}"  # pydantic's error for a string type with a validator of its own
    limits = {
        key: int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        for key, limit in limits.items()
    }
    if rule := RULES.get(kind):
        return rule.format(**limits).replace("'", "")
    return message.removeprefix("Value error, ")
