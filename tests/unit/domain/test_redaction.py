"""What looks like a key is masked, keeps its length, and comes back where the text does."""

import json
from itertools import pairwise

import pytest

from idea_explorer.domain.redaction import (
    find_secrets,
    has_masks,
    mask_bytes,
    mask_secrets,
    restore_secrets,
)

# put together here, so that no scanner takes this file for a leak
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\nAbCdEfGhIjKlMn==\n-----END PRIVATE KEY-----\n"
KEYS = {
    "aws": AWS,
    "github": GITHUB,
    "fine-grained": "github_pat_" + "11ABCDEFG0aBcDeFgHiJkLmNoPqRsTuVwXyZ",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "anthropic": "sk-ant-" + "api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "google": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_masked_at_its_place(key: str) -> None:
    text = f"before {key} after\nnext"
    masked = mask_secrets(text)

    assert key not in masked
    assert len(masked) == len(text)
    assert masked.startswith("before [masked:")
    assert masked.endswith("] after\nnext")


@pytest.mark.parametrize(
    "line",
    [
        'password = "s3cr3t-Pa55word-9x"',
        "API_KEY='9f8e7d6c5b4a39281706'",
        '"client_secret": "Zx81kQpL02mNvB77",',
        "DB_PASSWORD=Xk29dLq8Vw7Zp3Rt",
        "token: 0123456789abcdef0123456789abcdef",
        "postgres://app:Tr0ub4dor-and-3@db.internal/prod",
        "postgres://app:s3cr3tPw1@db",
        "redis://:hunter2@cache:6379/0",
        "AccountKey=Xk29dLq8Vw7Zp3RtXk29dLq8Vw7Zp3Rt/+a==;EndpointSuffix=core.windows.net",
        'c = "Endpoint=sb://a/;SharedAccessKeyName=Root;SharedAccessKey=Xk29dLq8Vw7Zp3Rt/+a="',
        "GET https://api.example.com/v1?api_key=9f8e7d6c5b4a_39281706&page=2",
        "https://api.example.com/v1?page=2&my_token=9f8e7d6c5b4a39281706",
        "id: GOCSPX-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4",
        "https://hooks.slack.com" + "/services/T01ABCDEF/B02ABCDEF/a1B2c3D4e5F6g7H8",
    ],
)
def test_a_value_that_is_assigned_to_such_a_name_is_masked(line: str) -> None:
    masked = mask_secrets(line)

    assert has_masks(masked)
    assert len(masked) == len(line)
    assert mask_secrets(masked) == masked
    assert restore_secrets(masked, line.encode()) == line
    for secret in ("s3cr3tPw1", "hunter2", "Xk29dLq8", "9f8e7d6c", "a1B2c3D4"):
        assert secret not in masked


@pytest.mark.parametrize(
    "line",
    [
        "token = get_token_from_environment()",
        "secret: ${{ secrets.DEPLOY_KEY_2 }}",
        'password = "correct horse battery staple"',
        'api_key = os.environ["SERVICE_API_KEY_2"]',
        "tokens = tokenizer.encode(text, add_special_tokens=True)",
        'secret_name = "production-database-password"',
        "password=aaaaaaaaaaaaaaaaaaaaaaaa11",
        "https://user@example.com/path:12",
        "postgres://postgres:postgres@localhost/test",
        "https://user:password@example.com/",
        "://:ab1c@",
        "http://localhost:8080/a@b",
        "https://example.com/?token=the-name-of-a-parameter&page=2",
        "https://hooks.slack.com/services/",
        "AKIA is how they begin",
        "ghp_short",
    ],
)
def test_ordinary_code_stays_as_it_is(line: str) -> None:
    assert mask_secrets(line) == line


def test_every_line_of_a_private_key_is_masked_and_the_lines_around_it_are_not() -> None:
    text = f"x = 1\n{PEM}y = 2\n"
    lines = mask_secrets(text).split("\n")

    assert lines[:2] == ["x = 1", "-----BEGIN PRIVATE KEY-----"]
    assert all(line.startswith("[masked:") for line in lines[2:5])
    assert lines[5:7] == ["-----END PRIVATE KEY-----", "y = 2"]


def test_a_private_key_in_a_string_is_masked() -> None:
    text = json.dumps({"private_key": PEM, "id": "abcdefghijklmnop"})
    masked = mask_secrets(text)

    assert BODY not in masked
    assert '"id": "abcdefghijklmnop"' in masked


def test_code_that_only_speaks_of_private_keys_stays_as_it_is() -> None:
    text = 'BEGIN = "-----BEGIN PRIVATE KEY-----"\ndef find_certificate_of_service(name): ...\n'

    assert mask_secrets(text) == text


def test_masking_twice_changes_nothing() -> None:
    once = mask_secrets(f"password = '{GITHUB}'\n{PEM}{AWS}")

    assert mask_secrets(once) == once


def test_bytes_that_are_no_text_keep_their_places() -> None:
    data = b"caf\xe9 " + AWS.encode() + b" \xff"
    masked = mask_bytes(data)

    assert len(masked) == len(data)
    assert masked.startswith(b"caf\xe9 [masked:")
    assert masked.endswith(b"] \xff")


def test_data_without_keys_is_not_copied() -> None:
    data = b"nothing to see\n" * 100

    assert mask_bytes(data) is data


def test_keys_come_back_where_the_masked_text_does() -> None:
    original = f"a = '{AWS}'\nb = '{GITHUB}'\n{PEM}"
    edited = mask_secrets(original).replace("a = ", "first = ")

    assert restore_secrets(edited, original.encode()) == original.replace("a = ", "first = ")


def test_a_mask_of_another_file_does_not_come_back() -> None:
    masked = mask_secrets(GITHUB)

    with pytest.raises(ValueError, match="masked"):
        restore_secrets(masked, b"no key in here")


def test_keys_with_the_same_mask_are_not_mixed_up() -> None:
    seen: dict[str, str] = {}
    for number in range(10**15, 10**15 + 50_000):
        key = f"AKIA{number}"
        mask = mask_secrets(key)
        if mask in seen:
            break
        seen[mask] = key
    original = f"{seen[mask]} {key}".encode()

    with pytest.raises(ValueError, match="masked"):
        restore_secrets(mask, original)


def test_a_file_that_speaks_of_masks_can_be_edited() -> None:
    original = b"masks look like [masked:0af***]\n"

    assert restore_secrets("They look like [masked:0af***]\n", original).startswith("They")


def test_spans_never_overlap() -> None:
    text = f'token = "{GITHUB}" password="{AWS}{AWS}"'.encode()
    spans = find_secrets(text)

    assert spans == sorted(spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
