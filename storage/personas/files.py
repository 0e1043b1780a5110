"""Persona files: a TOML head between two `+++` lines, then the persona's prompt.

`personas/nova.md` beside this module is the default and documents the fields.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from storage.errors import StorageError, is_lasting, reason
from storage.personas.fields import (
    NAME_LIMIT,
    PROMPT_LIMIT,
    checked_avatar,
    checked_name,
    checked_prompt,
    checked_triggers,
)
from text.usernames import told_apart_by

DEFAULT_FILE = Path(__file__).parent / "nova.md"

_SHOWN_LIMIT = 60
"""Characters of a faulty line that an error repeats."""

_FENCE = "+++"
_MARK = "\ufeff"  # what Windows editors put before the first character


class PersonaFileError(StorageError):
    """A persona file that cannot be used: names the file, the line where it is known, and what is
    wrong in plain words. Lasting, unless the disk is to blame: somebody has to edit the file."""

    def __init__(self, message: str, *, lasting: bool = True) -> None:
        super().__init__(message, lasting=lasting)


class PersonaFile(BaseModel):
    """One file, read and checked."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str
    """The file's name."""
    name: str = Field(min_length=1, max_length=NAME_LIMIT)
    triggers: list[str] = []
    main: bool = False
    avatar: str | None = None
    prompt: str = Field(min_length=1, max_length=PROMPT_LIMIT)

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return checked_name(name)

    @field_validator("triggers")
    @classmethod
    def _triggers(cls, triggers: list[str]) -> list[str]:
        return checked_triggers(triggers)

    @field_validator("prompt")
    @classmethod
    def _prompt(cls, prompt: str) -> str:
        return checked_prompt(prompt)

    @field_validator("avatar")
    @classmethod
    def _avatar(cls, avatar: str | None) -> str | None:
        return avatar if avatar is None else checked_avatar(avatar)


def read_folder(folder: Path, *, only_look: bool = False) -> list[PersonaFile]:
    """All `*.md` files of `folder`, by name, except hidden ones.

    A folder that is missing or holds none is given a copy of the default first, and is empty with
    `only_look`. Names can be told apart (`text.usernames`), and exactly one file is main. Raises
    PersonaFileError.
    """
    try:
        if not only_look:
            folder.mkdir(parents=True, exist_ok=True)
        paths = _persona_paths(folder)
        if not paths and only_look:
            return []
        if not paths:
            (folder / DEFAULT_FILE.name).write_bytes(DEFAULT_FILE.read_bytes())
            paths = _persona_paths(folder)
    except OSError as error:
        raise PersonaFileError(
            f"the folder {folder} of persona files cannot be used ({reason(error)})",
            lasting=is_lasting(error),
        ) from None
    personas = [_read(path) for path in paths]

    by_name: dict[str, PersonaFile] = {}
    for persona in personas:
        other = by_name.setdefault(told_apart_by(persona.name), persona)
        if other is not persona:
            taken = f'{other.source} has the name "{other.name}" already'
            if other.name.casefold() != persona.name.casefold():
                taken += f', and "{persona.name}" cannot be told from it: change one of them'
            raise PersonaFileError(f"{folder / persona.source}: {taken}")
    mains = [persona.source for persona in personas if persona.main]
    if not mains:
        raise PersonaFileError(
            f"no persona of {folder} is main: write main = true into exactly one file"
        )
    if len(mains) > 1:
        raise PersonaFileError(
            f"{folder / mains[1]}: {mains[0]} is main already, and only one persona can be"
        )
    return personas


def _persona_paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.md") if not path.name.startswith("."))


def _read(path: Path) -> PersonaFile:
    try:
        text = path.read_text(encoding="utf-8").removeprefix(_MARK)
    except UnicodeDecodeError:
        raise PersonaFileError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except OSError as error:
        raise PersonaFileError(
            f"{path} cannot be read ({reason(error)})", lasting=is_lasting(error)
        ) from None

    head, prompt = _divide(path, text)
    try:
        fields = tomllib.loads(head)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, head, error) from None
    for taken in ("prompt", "source"):
        if taken in fields:
            raise PersonaFileError(
                f"{_place(path, head, taken)}: {taken} is not a field; the prompt is what follows "
                f"the second {_FENCE}"
            )
    fields.setdefault("triggers", [fields["name"]] if isinstance(fields.get("name"), str) else [])
    try:
        return PersonaFile.model_validate({**fields, "source": path.name, "prompt": prompt})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        raise PersonaFileError(f"{_place(path, head, field)}: {_in_words(field, first)}") from None


def _divide(path: Path, text: str) -> tuple[str, str]:
    """The head and the prompt. The head keeps a first empty line, so that the line numbers in
    TOML's errors are those of the file."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE:
        raise PersonaFileError(f"{path}: the first line must be {_FENCE}")
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == _FENCE:
            return "\n".join(["", *lines[1:number]]), "\n".join(lines[number + 1 :]).strip()
    raise PersonaFileError(f"{path}: a second line {_FENCE} is missing, where the prompt begins")


def _not_toml(path: Path, head: str, error: tomllib.TOMLDecodeError) -> PersonaFileError:
    """Names the line and shows it, since TOML's own words ("Invalid value") explain little."""
    lines = head.split("\n")
    found = re.search(r"\(at line (\d+), column \d+\)\Z", str(error))
    number = int(found[1]) if found else len(lines)
    line = lines[number - 1].strip()
    shown = line if len(line) <= _SHOWN_LIMIT else line[:_SHOWN_LIMIT] + "…"
    what = re.sub(r" \(at [^()]*\)\Z", "", str(error))
    return PersonaFileError(
        f"{path}, line {number}: {shown or 'this'} is not valid TOML"
        f' ({what[0].lower() + what[1:]}); write it like name = "Nova"'
    )


def _place(path: Path, head: str, field: str) -> str:
    """The file, with the line that sets `field` when there is one."""
    setting = re.compile(rf"""\s*["']?{re.escape(field)}["']?\s*=""")
    for number, line in enumerate(head.split("\n"), start=1):
        if setting.match(line):
            return f"{path}, line {number}"
    return str(path)


def _in_words(field: str, error: ErrorDetails) -> str:
    """What is wrong with a field, without the words of the checker."""
    what = "the prompt" if field == "prompt" else field
    match error["type"]:
        case "extra_forbidden":
            return (
                f"{field} is not a field of a persona file: it has name, triggers, main and avatar"
            )
        case "missing":
            return f'{field} is missing: write {field} = "…" between the two {_FENCE} lines'
        case "string_too_short":
            return f"{what} is empty"
        case "string_too_long":
            limit = NAME_LIMIT if field == "name" else PROMPT_LIMIT
            return f"{what} is longer than {limit:,} characters"
        case "bool_type":
            return f"{field} must be true or false, without quotes"
        case "list_type" | "string_type" if field == "triggers":
            return 'triggers must be a list of texts, such as ["nova", "star"]'
        case "string_type":
            return f"{field} must be a text in quotes"
        case _:
            return error["msg"].removeprefix("Value error, ")
