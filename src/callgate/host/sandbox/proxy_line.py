"""The connection between a sandbox and its proxy, passed to a command at its start."""

from callgate.words.noun import noun

PORT = 3128
"""The port of the proxy on the loopback interface of each sandbox."""

SET_BY_PYTHON = "LC_CTYPE"
"""Python sets this variable if no locale is set, and the command that it executes would inherit it."""


@noun
class ProxyLine:
    """The sandbox's end of the socket pair that connects a sandbox to its proxy.

    descriptor  the descriptor of the socket, passed to one command
    direct      the hosts that the command reaches without the proxy
    """

    descriptor: int
    direct: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the proxy in upper and in lower case, because some programs read only
        one case."""
        address, direct = f"http://127.0.0.1:{PORT}", ",".join(self.direct)
        named = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": direct}
        return {**named, **{name.lower(): value for name, value in named.items()}, "NODE_USE_ENV_PROXY": "1"}
