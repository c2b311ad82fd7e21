"""What an exploration is: pure values and rules. Nothing here reads a clock, a file or a socket."""
