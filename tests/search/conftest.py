"""For every test of this folder: async ones run in virtual time."""

from tests.virtual import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
