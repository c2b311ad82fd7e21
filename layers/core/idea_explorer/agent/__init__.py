"""The agent: a bounded loop of model calls and tool calls. Pure but for the ports it is given."""
