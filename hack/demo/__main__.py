"""`python -m hack.demo`: tells the story, prints the table, writes demo.json, demo.svg and demo.png."""

import sys


def main() -> int:
    """Run the demo. Its imports take a second, in which Ctrl-C is as welcome as later."""
    try:
        from hack.demo import app  # noqa: PLC0415 - see above

        return app.main(__doc__ or "")
    except KeyboardInterrupt:
        print("\nStopped. What was up stays up.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
