"""What the tests do about signals."""

import signal


def heed_interrupts() -> None:
    """In a new process: Ctrl-C ends it, also where the tests run in the background of a shell, which has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
