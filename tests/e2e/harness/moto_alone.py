"""Moto's server under AWS's rules that moto leaves out: `python -m tests.e2e.harness.moto_alone …`."""

import json
import os
import sys
from contextlib import ExitStack

from moto.server import main

from tests.e2e.harness.moto_dynamodb import lagging_indexes, light_queries
from tests.e2e.harness.moto_sqs import reliable_queues
from tests.e2e.harness.moto_traces import kept_traces
from tests.e2e.harness.moto_workflows import light_workflows, limited_inputs
from tests.fakes.aws import atomic_dynamodb

if __name__ == "__main__":
    rules = json.loads(os.environ["HARNESS_RULES"])
    with ExitStack() as stack:
        stack.enter_context(atomic_dynamodb())
        stack.enter_context(lagging_indexes(rules["index_lag"]))
        stack.enter_context(light_queries())
        stack.enter_context(reliable_queues())
        stack.enter_context(light_workflows())
        stack.enter_context(limited_inputs())
        stack.enter_context(kept_traces(through_workflows=rules["lineage_through_workflows"]))
        main(sys.argv[1:])
