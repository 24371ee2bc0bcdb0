"""What a person sees of a service, for the terminal and the web page alike. Pure."""
