"""Fake servers of every family of APIs: real sockets on loopback, in the process of the test.

    from tests.providers.servers import FakeServer, Reply, Answer, Say, Call, writer
    async with FakeServer() as server:
        server.play(Reply.of(writer("anthropic"), Answer((Say("hi"), Call("c1", "look", '{"at": 1}')))))
        model = HttpModel(…, base=server.url)

``serving()`` is the same for tests without an event loop, and for programs in another process: it runs in a thread.
A family takes part by a module in this folder with a ``WRITER`` (see WireWriter): its name is the family's.
"""

from tests.providers.servers.script import Answer, Call, Part, Phase, Say, Think, WireWriter, writer, writers
from tests.providers.servers.server import CUT, HANG, FakeServer, Received, Reply, Until, serving

__all__ = [
    "CUT",
    "HANG",
    "Answer",
    "Call",
    "FakeServer",
    "Part",
    "Phase",
    "Received",
    "Reply",
    "Say",
    "Think",
    "Until",
    "WireWriter",
    "serving",
    "writer",
    "writers",
]
