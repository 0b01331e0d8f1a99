"""The one kind of error that is the user's to mend; everything else is a fault of this program."""


class InputError(ValueError):
    """The input is wrong: the message says what, where, which value and what would do."""
