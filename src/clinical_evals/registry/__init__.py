"""The results registry: one MLflow run per finished task, without text, never lost, never in the way.

The hook (`hook`) turns a finished task into a `record` of ids and numbers and writes it to the `spool`. A
child process (`sender`) moves it into MLflow (`store`). `runs` reads the runs back, and `leaderboard` ranks
those that can be compared. Nothing here knows the name of a metric: tasks say what theirs are.
"""
