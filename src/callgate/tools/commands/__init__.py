"""Parts of Bash and of the tools for background tasks.

command_call    one command: started, waited for, ended, handed over to the background
command_output  its output: bounded for the model, whole in a file
exit_codes      codes that are answers and no errors
"""
