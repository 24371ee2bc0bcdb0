"""Runs specdec_runtime out of the folder that this file lies in: `python3 FOLDER serve ...`, in an image without it.

The folder is put before the image's own PYTHONPATH, for the engine that this process becomes and for its children.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from specdec_runtime.__main__ import main

if __name__ == "__main__":
    folder = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    sys.exit(main(sys.argv[1:]))
