"""
A cycle on paper: the state that it began with, what it was given and what it decided, so that it can be run again.

A dump is a file of JSON values, one a line. The first six are those of the Go scheduler, for people and their tools:
nodes by name, HyperNodes by tier, names of tiers, nodes by HyperNode, HyperNodes by name, jobs (`overview`). Then
come a header with the cycle, a line for each part of the state, and an end mark, without which the file is incomplete
(`files`).

**Parts are the seam.** Whoever adds state that outlives a session, and that doesn't follow from API objects, adds a
`Part` (`seam`) to `surroundings.SURROUNDINGS` or `parts.PARTS`: its name, the type of its records, a function that takes
them from a cluster and one that puts them back. Parts are put back in the order in which they stand; plain values in slots of nodes, queues, jobs and
tasks (numbers, texts, float64 arrays) are taken along without a part of their own (`plain`).
"""
