"""
Why a job waits: one answer for `GET /explain/<namespace>/<podgroup>`, `vcctl job explain` and `simulate`.

An answer comes from a session of its own, opened between two cycles on the state as it is then and closed without a
decision (`opening`). In it the job is asked about as a cycle would (`explain`): may it enter its queue, is it valid, whose
turn is it, and a trial places what can be placed (`trial`), so that the numbers of nodes (`nodes`) are those that the first
pod without a place meets. `report` holds the fields of the answer; docs/explain.md tells what each means.
"""
