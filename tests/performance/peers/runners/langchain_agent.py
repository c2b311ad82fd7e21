"""langchain: `create_agent` (langgraph) with langchain-anthropic."""

import os

from tests.performance.peers.runners import protocol
from tests.performance.peers.runners.protocol import AsyncExplore, Explored


def prepare(base: str) -> AsyncExplore:
    import base64

    os.environ["LANGSMITH_TRACING"] = "false"
    import httpx2
    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic
    from langchain_core.tools import tool

    github = httpx2.AsyncClient(base_url=base, limits=httpx2.Limits(max_connections=100))

    @tool(description=protocol.READ_DESCRIPTION)  # type: ignore[untyped-decorator, unused-ignore]
    async def read_research(path: str) -> str:
        response = await github.get(protocol.CONTENTS + path)
        response.raise_for_status()
        return base64.b64decode(response.json()["content"]).decode()

    model = ChatAnthropic(
        model=protocol.MODEL,
        max_tokens=protocol.MAX_TOKENS,
        api_key="k",
        base_url=base,
        max_retries=2,
    )
    tools = [protocol.WEB_SEARCH, read_research]
    agent = create_agent(model, tools=tools, system_prompt=protocol.SYSTEM)
    options = {"recursion_limit": 2 * protocol.MAX_STEPS + 1}

    async def explore(name: str) -> Explored:
        asked = {"messages": [{"role": "user", "content": protocol.prompt(name)}]}
        ended = await agent.ainvoke(asked, options)
        answers = [message for message in ended["messages"] if message.type == "ai"]
        return Explored(
            ended["messages"][-1].text,
            sum(message.usage_metadata["input_tokens"] for message in answers),
            sum(message.usage_metadata["output_tokens"] for message in answers),
            len(answers),
        )

    return explore


if __name__ == "__main__":
    protocol.run_async(prepare)
