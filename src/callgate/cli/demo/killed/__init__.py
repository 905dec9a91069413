"""The ninth act: a process is killed in the middle of a batch, and another one takes its session up."""
