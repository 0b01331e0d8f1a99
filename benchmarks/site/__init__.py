"""Pages of the documentation that programs make: the integer program, tables, facts, Python, llms.txt."""
