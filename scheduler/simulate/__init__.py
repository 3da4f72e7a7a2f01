"""
`python -m scheduler simulate FILES...`: what would be decided, without a server (docs/explain.md).

Files are manifests (`manifests`, `objects`) or one dump, to which manifests are added; `building` makes the state of
them, `changes` are what the question is about, `running` runs cycles until nothing more is decided, and `command`
shows decisions and explanations.
"""
