"""The languages whose wording is understood, one module each. All are always checked: members
of one server write in several, and the server's own language says little about theirs."""

from activities.deliberate.packs import en, es, ja, pt
from activities.deliberate.packs.pack import Pack

PACKS: tuple[Pack, ...] = (en.PACK, ja.PACK, pt.PACK, es.PACK)

__all__ = ["PACKS", "Pack"]
