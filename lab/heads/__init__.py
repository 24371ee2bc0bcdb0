"""What the methods with a trained part draft with, made for the tiny target: EAGLE, EAGLE-3, Medusa, MTP, DFlash, PARD.

Each is small and knows code only, like the draft: enough for the engine to run the method, accept much on one kind of
traffic, and nothing on the other. Files that need nothing but bytes moved are made in store.py, without PyTorch.
"""
