"""By which signals a server is asked to end."""

import signal


def ending_signals() -> list[signal.Signals]:
    """One that was started under `nohup` goes on when its terminal is closed."""
    asked = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    return [number for number in asked if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
