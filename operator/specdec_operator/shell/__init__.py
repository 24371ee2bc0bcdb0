"""Commands, and scripts for a shell, read by the grammar of bash."""
