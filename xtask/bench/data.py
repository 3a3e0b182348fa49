"""Where the suites keep their data, and the tables and queries of TPC-H. Only Python's standard library, because the
suite `notebook` runs on machines without packages, too."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
QUERIES = HERE / "tpch.sql"


def cache() -> Path:
    """Where data are made once, next to what else Onrush keeps."""
    if given := os.environ.get("ONRUSH_CACHE_DIR"):
        return Path(given) / "bench"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onrush/bench"


def generator() -> Path | None:
    """The program that writes the tables of TPC-H: packed with this file, of this Python, or on the path."""
    packed, path = HERE / "tpchgen-cli", os.environ.get("PATH", "")
    if packed.is_file():
        return packed
    found = shutil.which("tpchgen-cli", path=f"{Path(sys.executable).parent}{os.pathsep}{path}")
    return Path(found) if found else None


def tables(folder: Path, scale: float) -> Path:
    """The folder with the tables, which are made if they are not there."""
    folder = folder / f"tpch-{scale:g}"
    if not all((folder / f"{name}.parquet").is_file() for name in TABLES):
        program = generator()
        if program is None:
            sys.exit(f"tpchgen-cli makes the tables: {sys.executable} -m pip install -r xtask/requirements-tpch.txt")
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        subprocess.run([program, "parquet", "-s", f"{scale:g}", "-o", str(unfinished), "-q"], check=True)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    return folder


def queries() -> list[tuple[str, str]]:
    """Name and text of each query of the file."""
    parts = re.split(r"^-- query (\d+)$", QUERIES.read_text(), flags=re.MULTILINE)[1:]
    return [(f"query {name}", text.strip()) for name, text in zip(parts[::2], parts[1::2])]
