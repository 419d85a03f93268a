"""The language messages are declared in, and the compiler that turns declarations into codecs."""
