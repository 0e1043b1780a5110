"""PDFs for the tests, made here: nothing is taken from elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(pages: Sequence[str], password: str | None = None, user_password: str = "") -> bytes:
    """One page for each text, one line of text for each of its lines."""
    drawn = []
    for text in pages:
        lines = "".join(f"({_escaped(line)}) Tj T* " for line in text.split("\n"))
        drawn.append(f"BT /F1 12 Tf 14 TL 72 720 Td {lines}ET".encode() if text else b"")
    return pdf_of_streams(drawn, password, user_password)


def pdf_of_streams(
    streams: Sequence[bytes], password: str | None = None, user_password: str = ""
) -> bytes:
    writer = PdfWriter()
    font = writer._add_object(
        DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
    )
    for drawn in streams:
        page = writer.add_blank_page(612, 792)
        content = DecodedStreamObject()
        content.set_data(drawn)
        page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password is not None:
        writer.encrypt(user_password, password, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def slow_pdf() -> bytes:
    """A small file whose one page takes minutes to be read."""
    operators = b"BT /F1 12 Tf (x) Tj ET q 1 0 0 1 1 1 cm Q " * 700_000
    return pdf_of_streams([b"BT /F1 12 Tf 72 720 Td (the first page) Tj ET", operators])


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
