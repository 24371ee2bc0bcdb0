"""What is there already and is only guarded: its flags, its pods, and the patch that takes its speculation out."""
