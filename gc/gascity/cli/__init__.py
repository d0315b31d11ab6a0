"""The command line: parse, call, print. Whatever decides or acts lies elsewhere."""
