"""A headless Chromium for the tests of pages and for the pictures in docs/: the machine's own, or Debian's."""
