"""pydantic-ai: `Agent.run` with its Anthropic model."""

from tests.performance.peers.runners import protocol
from tests.performance.peers.runners.protocol import AsyncExplore, Explored


def prepare(base: str) -> AsyncExplore:
    import base64

    import httpx2
    from anthropic import AsyncAnthropic
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.capabilities import WebSearch
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    github = httpx2.AsyncClient(base_url=base, limits=httpx2.Limits(max_connections=100))
    client = AsyncAnthropic(api_key="k", base_url=base, max_retries=2)
    agent = Agent(
        AnthropicModel(protocol.MODEL, provider=AnthropicProvider(anthropic_client=client)),
        instructions=protocol.SYSTEM,
        capabilities=[WebSearch(max_uses=5)],
        model_settings={"max_tokens": protocol.MAX_TOKENS},
    )

    @agent.tool_plain(description=protocol.READ_DESCRIPTION)  # type: ignore[untyped-decorator, unused-ignore]
    async def read_research(path: str) -> str:
        response = await github.get(protocol.CONTENTS + path)
        response.raise_for_status()
        return base64.b64decode(response.json()["content"]).decode()

    limits = UsageLimits(request_limit=protocol.MAX_STEPS)

    async def explore(name: str) -> Explored:
        ended = await agent.run(protocol.prompt(name), usage_limits=limits)
        usage = ended.usage
        return Explored(ended.output, usage.input_tokens, usage.output_tokens, usage.requests)

    return explore


if __name__ == "__main__":
    protocol.run_async(prepare)
