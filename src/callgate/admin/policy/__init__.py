"""Policy and trust for the commands that try, show and change them; see ``config`` for the settings themselves.

Everything here blocks, and nothing runs: hooks are not asked, and the tools need not be there.
"""

from callgate.admin.policy.judging import CONTENT, CallJudge, CallToJudge, Ruling
from callgate.admin.policy.workspace_policy import KeptAnswer, WorkspacePolicy, trust_store
from callgate.policy.entries import SettingsFault
from callgate.policy.explanation import ExplainedStep, Explanation, Reading
from callgate.policy.fingerprint import Fingerprint, fingerprint
from callgate.policy.rules import Rule
from callgate.policy.trust import ChangedFolder, Trust, Trusted, TrustedFolder, TrustState, Untrusted

__all__ = [
    "CONTENT",
    "CallJudge",
    "CallToJudge",
    "ChangedFolder",
    "ExplainedStep",
    "Explanation",
    "Fingerprint",
    "KeptAnswer",
    "Reading",
    "Rule",
    "Ruling",
    "SettingsFault",
    "Trust",
    "TrustState",
    "Trusted",
    "TrustedFolder",
    "Untrusted",
    "WorkspacePolicy",
    "fingerprint",
    "trust_store",
]
