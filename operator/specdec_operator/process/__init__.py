"""The process itself: its clock and its memory."""
