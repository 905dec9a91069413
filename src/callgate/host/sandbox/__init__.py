"""The sandbox of commands: no network, no writes outside the workspace, secrets out of sight.

profile     the places a command may touch, and the bindings that this means
bubblewrap  the best way: the program bwrap
launcher    our own program: namespaces, Landlock, seccomp; run as a script
seatbelt    macOS, as text
seccomp     the filter of system calls, from one table
sandbox     Sandbox.wrap: a command in, the command that runs it inside out
confining   a sandbox in use: where each command of a session runs, and what was refused to it
denied      refusals, recognised in what a command wrote
attacks     the attacks that prove a sandbox, and the program that runs them; arena and prover run it and judge
"""
