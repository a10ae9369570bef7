"""What this package was built from. A wheel has its own copy of this file."""

VERSION = "0.0.0"
# What `candor version` prints first, of the program that belongs to the package. In a checkout any program does.
PROGRAM = ""
