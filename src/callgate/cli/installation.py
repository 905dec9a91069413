"""``callgate update``: the command that installs the newest version, for the way this one was installed."""

from argparse import Namespace

from callgate.admin.installed import NAME, app_packages, find_installation
from callgate.cli.session.output import out, put, say
from callgate.cli.terminal import Span


def update(options: Namespace) -> int:
    """Prints the command alone on standard output, and runs nothing."""
    found, packages = find_installation(), app_packages()
    has_app = bool(packages) and all(each.version for each in packages)
    say(str(found))
    put([(Span(found.renew(f"{NAME}[app]" if has_app else NAME)),)], out())
    return 0
