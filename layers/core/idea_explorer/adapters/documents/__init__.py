"""The text of PDF and Office files. The parsers meet bytes of strangers, so they run in a child process."""
