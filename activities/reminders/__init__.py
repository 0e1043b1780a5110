"""Reminders and tasks of a persona's own: rows in the database, each waited for by a workflow.

calendar.py    wall time and instants, over daylight-saving changes (pure)
timing.py      from what a model asks for to the time that is meant
place.py       in which channel, and whether bot and member may speak there
recipients.py  whom it reminds
telling.py     how one is told to the model, and to people
schedule.py    the way to the workflow: start, tell of a change, make up for who died before that
deliver.py     the activities of `ReminderWorkflow`
standing.py    whether one that waits in its channel is still wanted
"""
