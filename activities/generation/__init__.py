"""The model call. `call_model` is the activity; its docstring names the stages, one module each."""
