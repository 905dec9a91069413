"""The line from a sandbox to the proxy: what a command is started with, so that the proxy gets its socket."""

from callgate.words.noun import noun

PORT = 3128
"""The port of the proxy on the loopback of each sandbox."""

SET_BY_PYTHON = "LC_CTYPE"
"""Python sets this variable where no locale is set, and a command that it becomes would inherit it."""


@noun
class ProxyLine:
    """One end of a pair of connected sockets: a descriptor, to be handed over to one command. ``direct`` are hosts that
    the command reaches without the proxy: its own."""

    descriptor: int
    direct: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """Those that programs find a proxy by, in both cases: some read only one."""
        address, direct = f"http://127.0.0.1:{PORT}", ",".join(self.direct)
        named = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": direct}
        return {**named, **{name.lower(): value for name, value in named.items()}, "NODE_USE_ENV_PROXY": "1"}
