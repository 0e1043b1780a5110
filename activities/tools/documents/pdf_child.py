"""The process that reads one PDF: started by `pdf.py` by its path, so it imports nothing of ours.

In: the PDF on standard input; limits as arguments (code points of text, bytes of address space,
seconds of CPU). Out: JSON lines on standard output: `{"pages": 12}`, then `{"page": 1, "text": …}`
for each page with text, then `{"end": true, "cut": false}`; or `{"fault": …}` where it gives up.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

MAX_PAGES = 5_000
FAILURES_IN_A_ROW = 50
"""Pages after which a document that only claims to have more is given up."""


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
    os.nice(10)


def tell(**message: object) -> None:
    text = json.dumps(message, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def read(data: bytes, max_text: int) -> None:
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        tell(fault="encrypted")
        return
    count = len(reader.pages)
    tell(pages=count)
    left, failures = max_text, 0
    for index in range(min(count, MAX_PAGES)):
        try:
            text = reader.pages[index].extract_text().strip()
            failures = 0
        except MemoryError:
            raise
        except Exception:
            # one damaged page leaves the others readable
            text, failures = "", failures + 1
            if failures >= FAILURES_IN_A_ROW:
                break
        if text:
            tell(page=index + 1, text=text[:left])
            left -= len(text)
        if left <= 0:
            tell(end=True, cut=left < 0 or index + 1 < count)
            return
    tell(end=True, cut=count > MAX_PAGES or failures >= FAILURES_IN_A_ROW)


def main() -> None:
    max_text, memory, seconds = (int(argument) for argument in sys.argv[1:4])
    limit_itself(memory, seconds)
    try:
        read(sys.stdin.buffer.read(), max_text)
    except MemoryError:
        tell(fault="memory")
    except (FileNotDecryptedError, DependencyError):
        tell(fault="encrypted")
    except Exception:
        tell(fault="broken")


if __name__ == "__main__":
    main()
