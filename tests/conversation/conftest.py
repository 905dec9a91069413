"""For every test of this folder."""

from tests.virtual import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
