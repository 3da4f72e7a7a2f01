"""What plugins and the session agree on: points, declared effects, views of nodes, answers and what is decided."""
