"""Composes the system prompt from texts that the user can read and replace.

system_prompt      composes the parts of a session's prompt in order
prompt_part        a part with its origin, and the whole prompt
texts/             the shipped texts, one file for each section
instructions       AGENTS.md and CLAUDE.md of the user and of the project
environment_facts  folder, branch, platform, date and model
"""
