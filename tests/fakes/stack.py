"""A stack of CloudFormation that has nothing but its outputs: what names a deployment's parts."""

import json

from idea_explorer.adapters.aws.client import client


def name_stack(stack: str, endpoint_url: str | None = None, **outputs: str) -> None:
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in outputs.items()},
    }
    client("cloudformation", endpoint_url).create_stack(
        StackName=stack, TemplateBody=json.dumps(template)
    )
