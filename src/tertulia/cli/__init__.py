"""The command line: one module a command group; it parses, calls one function and prints."""
