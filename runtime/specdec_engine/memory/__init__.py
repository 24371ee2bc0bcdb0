"""How much device memory a service takes, what speculation costs of it, and which utilisation to ask the engine for."""
