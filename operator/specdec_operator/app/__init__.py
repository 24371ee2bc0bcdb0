"""The process: settings, kopf's handlers and watches, what is shared. The only package that imports kopf."""
