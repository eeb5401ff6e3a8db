"""Fixtures for all tests."""

from tests.sandbox_fixture import sandbox, sandbox_directory

__all__ = ["sandbox", "sandbox_directory"]
