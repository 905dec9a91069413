"""Parts that the terminal and ``callgate -p`` share.

flags    flags about the model, the rules and the session
opening  settings, model and record made of the flags
"""
