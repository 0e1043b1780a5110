"""One file for one tool; each ends with `TOOL = Tool(…)` and needs no mention anywhere else."""
