"""Which environment variable sets which field of the settings."""

from pydantic import AliasChoices

from idea_explorer.settings import Settings

VARIABLES = {
    str(variable): name
    for name, field in Settings.model_fields.items()
    if (alias := field.validation_alias)
    for variable in (alias.choices if isinstance(alias, AliasChoices) else [alias])
}
