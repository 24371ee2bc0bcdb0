"""What a person sees of a service, for both the terminal and the web page. Pure."""
