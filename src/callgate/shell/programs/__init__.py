"""The table of programs, which describes the effect of each option and operand: reads, writes, runs, loads or sends."""
