"""The side of the administrative commands (sessions, answers, policy, changes) that enters the rooms for the doors."""
