"""Parts that the terminal and ``callgate -p`` share, and the words of the latter.

flags               flags about the model, the rules and the session
headless_arguments  the words of ``callgate -p``, apart from it: reading them does not load the agent
opening             settings, model and record made of the flags
"""
