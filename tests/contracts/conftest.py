"""Async tests of this folder run in virtual time."""

from tests.virtual import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
