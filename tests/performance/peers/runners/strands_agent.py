"""strands-agents with its Anthropic model, which always streams."""

import logging

from tests.performance.peers.runners import protocol
from tests.performance.peers.runners.protocol import AsyncExplore, Explored


def prepare(base: str) -> AsyncExplore:
    import base64

    import httpx2
    from strands import Agent, tool
    from strands.models.anthropic import AnthropicModel

    github = httpx2.AsyncClient(base_url=base, limits=httpx2.Limits(max_connections=100))

    @tool(description=protocol.READ_DESCRIPTION)  # type: ignore[untyped-decorator, unused-ignore]
    async def read_research(path: str) -> str:
        response = await github.get(protocol.CONTENTS + path)
        response.raise_for_status()
        return base64.b64decode(response.json()["content"]).decode()

    model = AnthropicModel(
        client_args={"api_key": "k", "base_url": base, "max_retries": 2},
        model_id=protocol.MODEL,
        max_tokens=protocol.MAX_TOKENS,
        anthropic_tools=[protocol.WEB_SEARCH],
    )

    async def explore(name: str) -> Explored:
        # an agent holds one conversation; the model, with its client, is shared
        agent = Agent(
            model=model,
            tools=[read_research],
            system_prompt=protocol.SYSTEM,
            callback_handler=None,
        )
        ended = await agent.invoke_async(protocol.prompt(name))
        usage = ended.metrics.accumulated_usage
        text = "".join(block.get("text", "") for block in ended.message["content"])
        steps = ended.metrics.cycle_count
        return Explored(text, usage["inputTokens"], usage["outputTokens"], steps)

    return explore


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    protocol.run_async(prepare)
