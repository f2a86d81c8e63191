"""What goes wrong with a report."""


class ProfileError(Exception):
    """A report cannot be read at all; the message is one line that names it."""
