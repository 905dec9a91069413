"""The function of each command; see ``arguments`` for the options."""

from argparse import Namespace
from collections.abc import Callable, Mapping

from callgate.cli.policy.changing import add, expire, narrow, revoke
from callgate.cli.policy.checking import check
from callgate.cli.policy.decide import decide
from callgate.cli.policy.explaining import explain
from callgate.cli.policy.listing import list_rules

COMMANDS: Mapping[str, Callable[[Namespace], int]] = {
    "policy decide": decide,
    "policy explain": explain,
    "policy check": check,
    "policy list": list_rules,
    "policy add": add,
    "policy revoke": revoke,
    "policy narrow": narrow,
    "policy expire": expire,
}
