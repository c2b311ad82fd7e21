"""The settings of the authorizer are those of the deployment."""

import pytest

from idea_explorer.lambda_runtime.authorizer import AuthorizerSettings
from idea_explorer.settings import Settings


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"API_TOKENS_SECRET_ID": "", "AWS_ENDPOINT_URL": "", "IDEA_SECRET_MAX_AGE_SECONDS": ""},
        {
            "API_TOKENS_SECRET_ID": "stack/api-tokens",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:5000",
            "IDEA_SECRET_MAX_AGE_SECONDS": "7",
        },
    ],
)
def test_they_are_read_as_all_settings_are(environment: dict[str, str]) -> None:
    own, all_of_them = (
        AuthorizerSettings.from_environment(environment),
        Settings.from_environment(environment),
    )

    for name in AuthorizerSettings.__dataclass_fields__:
        assert getattr(own, name) == getattr(all_of_them, name)
