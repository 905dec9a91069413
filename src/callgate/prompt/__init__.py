"""The system prompt, composed of texts that the user can read and replace.

system_prompt       the order of the parts, and which of them a session has
prompt_part         a part with its origin; the whole prompt
texts/              the shipped texts, one file for each section
instructions        AGENTS.md and CLAUDE.md of the user and of the project
environment_facts   folder, branch, platform, date and model
"""
