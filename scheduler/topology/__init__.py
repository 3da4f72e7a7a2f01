"""Placing jobs by the network: which domains a job may use, what each could hold, and the search among them."""
