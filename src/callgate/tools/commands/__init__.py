"""Modules of Bash and of the tools for background tasks.

command_call    run one command, wait for it, stop it or move it to the background
command_output  the output of a command: limited for the model, complete in a file
exit_codes      exit codes that are not errors
"""
