"""
Pages whose commands are run: what they show is what a reader gets.

A fence `console run` holds commands, each after `$ `, and what they print. A fence with `file=NAME` is put into the
directory in which they run. `python -m hack.docs` runs them and writes outputs anew; a test runs them and compares.
"""
