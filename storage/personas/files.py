"""Persona files: a TOML head between two `+++` lines, then the persona's prompt.

`personas/nova.md` beside this module is the default and documents the fields.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from storage.errors import StorageError, reason

DEFAULT_FILE = Path(__file__).parent / "nova.md"

NAME_LIMIT = 80
"""Characters of a webhook's name (Discord, resources/webhook)."""

PROMPT_LIMIT = 16_000
"""Characters, so that even a Japanese prompt, a token for each, leaves a third of the context
budget to the conversation."""

_FENCE = "+++"
_MARK = "\ufeff"  # what Windows editors put before the first character


class PersonaFileError(StorageError):
    """A persona file that cannot be used: names the file and the field."""


class PersonaFile(BaseModel):
    """One file, read and checked."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str
    """The file's name."""
    name: str = Field(min_length=1, max_length=NAME_LIMIT)
    triggers: list[str] = []
    main: bool = False
    avatar_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    prompt: str = Field(min_length=1, max_length=PROMPT_LIMIT)

    @field_validator("name")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if name != " ".join(name.split()) or not name.isprintable():
            raise ValueError("must be one line without spaces at its ends")
        return name

    @field_validator("triggers")
    @classmethod
    def _words(cls, triggers: list[str]) -> list[str]:
        if any(not trigger.strip() for trigger in triggers):
            raise ValueError("an empty trigger would match every message")
        return [trigger.strip() for trigger in triggers]

    @field_validator("prompt")
    @classmethod
    def _storable(cls, prompt: str) -> str:
        if "\0" in prompt:
            raise ValueError("contains a NUL character")
        return prompt


def read_folder(folder: Path) -> list[PersonaFile]:
    """All `*.md` files of `folder`, by name, except hidden ones.

    A folder that is missing or holds none is given a copy of the default first. Names differ (also
    in more than case), and exactly one file is main. Raises PersonaFileError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = _persona_paths(folder)
        if not paths:
            (folder / DEFAULT_FILE.name).write_bytes(DEFAULT_FILE.read_bytes())
            paths = _persona_paths(folder)
    except OSError as error:
        raise PersonaFileError(f"persona folder {folder}: {reason(error)}") from None
    personas = [_read(path) for path in paths]

    by_name: dict[str, PersonaFile] = {}
    for persona in personas:
        other = by_name.setdefault(persona.name.casefold(), persona)
        if other is not persona:
            raise PersonaFileError(
                f"persona file {folder / persona.source}: name: "
                f"{other.source} has the name {other.name!r} already"
            )
    mains = [persona.source for persona in personas if persona.main]
    if not mains:
        raise PersonaFileError(
            f"persona folder {folder}: main: write main = true into exactly one file"
        )
    if len(mains) > 1:
        raise PersonaFileError(
            f"persona file {folder / mains[1]}: main: {mains[0]} is main already; only one can be"
        )
    return personas


def _persona_paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.md") if not path.name.startswith("."))


def _read(path: Path) -> PersonaFile:
    try:
        text = path.read_text(encoding="utf-8").removeprefix(_MARK)
    except UnicodeDecodeError:
        raise PersonaFileError(f"persona file {path}: save it as UTF-8") from None
    except OSError as error:
        raise PersonaFileError(f"persona file {path}: {reason(error)}") from None

    head, prompt = _divide(path, text)
    try:
        fields = tomllib.loads(head)
    except tomllib.TOMLDecodeError as error:
        raise PersonaFileError(f"persona file {path}: head: {error}") from None
    for taken in ("prompt", "source"):
        if taken in fields:
            raise PersonaFileError(
                f"persona file {path}: {taken}: unknown field; the prompt follows the second +++"
            )
    fields.setdefault("triggers", [fields["name"]] if isinstance(fields.get("name"), str) else [])
    try:
        return PersonaFile.model_validate({**fields, "source": path.name, "prompt": prompt})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "head"
        problem = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        problem = problem.removeprefix("Value error, ")
        raise PersonaFileError(f"persona file {path}: {field}: {problem}") from None


def _divide(path: Path, text: str) -> tuple[str, str]:
    """The head and the prompt. The head keeps a first empty line, so that the line numbers in
    TOML's errors are those of the file."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE:
        raise PersonaFileError(f"persona file {path}: head: the first line must be {_FENCE}")
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == _FENCE:
            return "\n".join(["", *lines[1:number]]), "\n".join(lines[number + 1 :]).strip()
    raise PersonaFileError(f"persona file {path}: head: no second {_FENCE} line ends it")
