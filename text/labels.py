"""Names from outside as a reader may be shown them: no name passes for another, or for more.

In: display names, free text. Out: labels. Pure.
What always holds: a label is one line of visible characters, and holds none of the marks that are
set around names (colon, square bracket, double quote), in no compatibility form either; what we add
to a label stands in brackets or behind it, so that no name can bring it along.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import regex

from text.visible import has_visible, strip_invisible

NAMELESS = "someone"

MAX_LABEL = 100
"""Code points; Discord's own limit for names of channels and servers, the longest there are."""

BRACKETS = {"[": "(", "]": ")", "［": "(", "］": ")", "﹇": "(", "﹈": ")"}
QUOTES = {'"': "'", "＂": "'", "“": "'", "”": "'", "„": "'", "‟": "'"}
_COLONS = {":": "꞉", "：": "꞉", "﹕": "꞉", "︓": "꞉", "⩴": "꞉꞉="}
"""Marks and their compatibility forms, with what stands for them."""

_MARKS = str.maketrans(BRACKETS | QUOTES | _COLONS)

_NO_MENTION = "‹@"
"""For `<@`: a name is not the handle of somebody else."""

_UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}")


class Named(NamedTuple):
    id: str
    name: str
    is_bot: bool = False


def author_label(name: str) -> str:
    """`name` as it may stand at the start of a line, before a colon, or in quotes."""
    head = name[: MAX_LABEL * 4]  # enough, whatever is taken out
    line = " ".join(strip_invisible(head).translate(_MARKS).split())
    label = line.replace("<@", _NO_MENTION)[:MAX_LABEL].strip()
    return label if has_visible(label) else NAMELESS


def labels_beside(people: Iterable[Named], own_names: Collection[str]) -> dict[str, str]:
    """Id to label, in the order of `people`.

    Somebody who bears one of the persona's `own_names` is marked, so that the persona does not take
    their words for its own; of several who have one name the later ones are numbered.
    """
    own = {alias_of(author_label(name)) for name in own_names if name}
    bearers: Counter[str] = Counter()
    labels: dict[str, str] = {}
    for person in people:
        label = author_label(person.name)
        if alias_of(label) in own:
            label += " (another bot)" if person.is_bot else " (a member)"
        alias = alias_of(label)
        bearers[alias] += 1
        labels[person.id] = label if bearers[alias] == 1 else f"{label} [{bearers[alias]}]"
    return labels


def unnumbered(label: str) -> str:
    """A label of `labels_beside` without its number: what several may share."""
    return label.partition(" [")[0]


def alias_of(label: str) -> str:
    """What makes two names the same to a reader: compatibility form, without case, and without
    selectors and joiners."""
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", label)).casefold()
