"""Files that hold keys and passwords by their name: never read, sent or edited, unless the repository allows
it by name. What looks like a key in any other file is masked; see redaction.py."""

from collections.abc import Collection

_NAMES = frozenset(
    ".env .envrc .netrc _netrc .pgpass .my.cnf .git-credentials .htpasswd .pypirc .dockercfg .vault-token"
    " .s3cfg .boto id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk credentials credentials.json"
    " client_secret.json service-account.json service_account.json serviceaccount.json secrets.json"
    " secrets.yml secrets.yaml secrets.toml .secrets .npmrc".split()
)
_ENDINGS = (
    *(".pem", ".key", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".env"),
    *(".tfstate", ".tfstate.backup"),  # Terraform writes passwords into its state
    *(".tfvars", ".tfvars.json"),  # and people write them into its variables
)
_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
_IN_FOLDERS = frozenset({".docker/config.json", ".cargo/credentials.toml", ".gem/credentials"})
# `.env.example` and the like show which variables there are, not their values
_TEMPLATES = tuple(
    mark + word
    for mark in ".-_"
    for word in ("example", "sample", "template", "dist", "defaults", "schema")
)


def is_secret_file(path: str, allowed: Collection[str] = ()) -> bool:
    """Whether the tools must not read or change the file at this path, which is relative to the root."""
    if path in allowed or _is_ordinary(path.casefold()):
        return False
    *folders, name = (_plain(segment) for segment in path.split("/"))
    if not _FOLDERS.isdisjoint(folders) or "/".join([*folders[-1:], name]) in _IN_FOLDERS:
        return True
    if name.endswith(_TEMPLATES):
        return False
    return name in _NAMES or name.endswith(_ENDINGS) or name.startswith((".env.", ".env-", ".env_"))


def _is_ordinary(lower: str) -> bool:
    """True for nearly all files of nearly all repositories, and quick to tell: there may be 100,000."""
    name = lower.rpartition("/")[2]
    return (
        name not in _NAMES
        and not name.endswith((*_ENDINGS, ".", " "))
        and ":" not in lower
        and not lower.startswith(".")
        and "/." not in lower
        and not name.startswith("credentials")
    )


def _plain(segment: str) -> str:
    """As file systems compare it that ignore case, ends of dots and spaces, and what follows a colon."""
    return segment.casefold().partition(":")[0].rstrip(". ") or segment
