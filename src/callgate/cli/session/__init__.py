"""``callgate session …`` and ``callgate audit``: the sessions on disk."""
