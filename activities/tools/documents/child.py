"""The process that reads one document: started by `process.py` by its path, so it imports nothing
of ours.

In: the document on standard input; as arguments the path of a reader, and limits (code points of
text, bytes of address space, seconds of CPU). A reader is a file with a function
`read(data, max_text)` that yields messages. Out: each of them as a JSON line on standard output,
as soon as it is there, then `{"done": true}`; or `{"fault": …}` where the reader gives up.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from typing import Any


def limit_itself(memory: int, seconds: int) -> None:
    """Best effort: not every system has every limit. The parent's clock holds in any case."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (
        ("RLIMIT_AS", memory),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (AttributeError, ValueError, OSError):
            continue
    signal.alarm(seconds + 5)  # should the parent die, nobody else would end this


def tell(**message: object) -> None:
    text = json.dumps(message, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def reader_at(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("reader", path)
    assert spec is not None
    assert spec.loader is not None
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    return reader


def main() -> None:
    path = sys.argv[1]
    max_text, memory, seconds = (int(argument) for argument in sys.argv[2:5])
    limit_itself(memory, seconds)
    try:
        reader = reader_at(path)
        os.nice(10)  # from here on a stranger decides what it costs
        for message in reader.read(sys.stdin.buffer.read(), max_text):
            tell(**message)
        tell(done=True)
    except MemoryError:
        tell(fault="memory")
    except Exception:
        tell(fault="broken")


if __name__ == "__main__":
    main()
