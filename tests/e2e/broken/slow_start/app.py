"""The explore function, with a cold start of six seconds."""

import runpy
import time
from pathlib import Path

time.sleep(6)
handler = runpy.run_path(str(Path(__file__).parents[4] / "functions" / "explore" / "app.py"))[
    "handler"
]
