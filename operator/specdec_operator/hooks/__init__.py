"""What Helm runs beside a release: the self test."""
