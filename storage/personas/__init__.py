"""Personas: who answers. Rows in the database, seeded from files that people edit."""

from storage.personas.files import PersonaFileError
from storage.personas.repository import Persona, Personas

__all__ = ["Persona", "PersonaFileError", "Personas"]
