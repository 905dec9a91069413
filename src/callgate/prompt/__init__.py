"""Composes the system prompt from texts that the user can read and replace.

system_prompt      composes the parts of a session's prompt in order
texts/             the shipped texts, one file for each section
instructions       AGENTS.md and CLAUDE.md of the user and of the project
environment_facts  folder, branch, platform, date and model
"""
