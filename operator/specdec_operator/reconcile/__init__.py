"""One service: observe, decide, describe, record, act. Read loop.py first."""
