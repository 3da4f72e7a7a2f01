"""
Jobs: the defaults that admission fills in, and the rules that a job must keep.

`spec` judges what a job asks for and is shared with CronJobs, whose templates are jobs to come; `create` and `update`
judge requests. Each other module is one of the rules.
"""
