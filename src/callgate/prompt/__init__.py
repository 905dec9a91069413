"""The system prompt, put together from texts that people can read and replace.

build          the order of the parts, and which of them a session has
parts          a part with its origin; the whole prompt
texts/         the shipped texts, one file for each section
instructions   AGENTS.md and CLAUDE.md of the person and of the project
environment    folder, branch, platform, date and model
"""
