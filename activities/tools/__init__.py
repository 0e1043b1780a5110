"""The tools a persona can call, and the one activity that runs them.

registry.py    which tools there are; judges a call before it is dispatched
tool.py        what a tool is
builtin/       one file for one tool
discovery.py   finds the files of `builtin/`, and the tools of installed packages
arguments.py   from the model's JSON text to a tool's arguments, or to a readable reason
results.py     from whatever a tool returned to the text that the model reads
run_tool.py    the activity
resources.py   what tools share: the guarded HTTP client, threads that decode texts
http_guard.py  addresses.py  http_body.py  page_text.py   the way of a web page
"""
