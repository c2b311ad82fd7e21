"""How good the reports are: recorded answers run through the engine and scored. See docs/evaluation.md."""
