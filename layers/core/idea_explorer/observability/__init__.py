"""Log lines, metrics and spans, made from the events of a run."""
