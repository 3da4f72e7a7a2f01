"""
New parts of the system, ready to be filled in: `python -m codegen create api|webhook|controller|plugin`.

Each one comes registered, typed and with a test that passes. Either everything is written or nothing.
"""
