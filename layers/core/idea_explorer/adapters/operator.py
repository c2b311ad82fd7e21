"""What an operator sets up in a deployment: the values of its secrets, found by the stack's outputs."""

from collections.abc import Callable, Mapping
from typing import Any

from idea_explorer.adapters.aws import aws_errors, code_of
from idea_explorer.domain.errors import ConfigurationError

SYSTEM = "Secrets Manager"


class OperatorSecrets:
    """Reads and writes current values, past every cache. Values never enter a message."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    def read(self, name: str) -> str:
        from botocore.exceptions import ClientError

        with aws_errors(SYSTEM):
            try:
                found = self._connect().get_secret_value(SecretId=name)
            except ClientError as error:
                if not _has_no_value_yet(error):
                    raise
                return ""
        return str(found.get("SecretString", ""))

    def write(self, name: str, value: str) -> None:
        with aws_errors(SYSTEM):
            self._connect().put_secret_value(SecretId=name, SecretString=value)


def _has_no_value_yet(error: Any) -> bool:
    """A secret that was never set and one that does not exist have the same code."""
    said = str(error.response.get("Error", {}).get("Message", ""))
    return code_of(error) == "ResourceNotFoundException" and "staging label" in said


def stack_outputs(stack: str, connect: Callable[[], Any]) -> Mapping[str, str]:
    from botocore.exceptions import ClientError

    with aws_errors("CloudFormation"):
        try:
            found = connect().describe_stacks(StackName=stack)["Stacks"][0]
        except ClientError as error:
            if code_of(error) != "ValidationError":
                raise
            raise ConfigurationError(
                f"There is no stack {stack} in this account and region.",
                hint="Name yours with --stack.",
            ) from error
    return {out["OutputKey"]: out["OutputValue"] for out in found.get("Outputs", [])}
