"""The sandbox of commands: no network, no writes outside the workspace, no access to secrets.

profile         the paths that a command may access, and the mounts that follow from them
bubblewrap      the preferred backend: the program bwrap
launcher        the built-in backend: namespaces, Landlock, seccomp; run as a script
seatbelt        the backend of macOS
seccomp         the filter of system calls
sandbox         Sandbox.wrap: converts a command into a command that runs inside the sandbox
proven_sandbox  a sandbox in use: where each command of a session runs, and which accesses were refused
denied_access   detects refused accesses in the output of commands
attacks         the attacks that prove a sandbox, and the program that runs them
prover          runs the attacks outside and inside the sandbox and compares the results
"""
