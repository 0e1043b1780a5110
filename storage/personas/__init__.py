"""Personas: who answers. Rows in the database, seeded from files that people edit."""

from storage.personas.files import PersonaFileError
from storage.personas.models import Persona, PersonaChanges
from storage.personas.repository import Personas

__all__ = ["Persona", "PersonaChanges", "PersonaFileError", "Personas"]
