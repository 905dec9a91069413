"""Policy and trust for the commands that try, show and change them; see ``config`` for the settings themselves.

Everything here blocks, and nothing runs: hooks are not asked, and the tools need not be there.
"""

from callgate.admin.policy.bench import Asked, Bench
from callgate.admin.policy.calls import CONTENT, Ruling
from callgate.admin.policy.trusting import trust_store
from callgate.admin.policy.workspace import Answer, Explained, Policy
from callgate.policy.entries import Fault
from callgate.policy.explain import Reading, Step
from callgate.policy.fingerprint import Fingerprint, fingerprint
from callgate.policy.rules import Rule
from callgate.policy.trust import Changed, Folder, State, Trust, Trusted, Untrusted

__all__ = [
    "CONTENT",
    "Answer",
    "Asked",
    "Bench",
    "Changed",
    "Explained",
    "Fault",
    "Fingerprint",
    "Folder",
    "Policy",
    "Reading",
    "Rule",
    "Ruling",
    "State",
    "Step",
    "Trust",
    "Trusted",
    "Untrusted",
    "fingerprint",
    "trust_store",
]
