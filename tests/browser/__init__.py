"""The web page in a real headless Chromium."""
