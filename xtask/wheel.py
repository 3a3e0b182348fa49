"""Packs a folder as a wheel: wheel.py FOLDER OUT.whl LEVEL. Writes RECORD, the list of files with their SHA-256 digests.

The archive depends on the contents, the level of compression and the zlib of Python: sorted names, one timestamp.
"""

import base64
import hashlib
import os
import sys
import zipfile
from pathlib import Path

# The first moment that a zip archive can hold.
TIME = (1980, 1, 1, 0, 0, 0)


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    return info


def pack(folder: Path, out: Path, level: int) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # The description comes last, as the format recommends.
    files.sort(key=lambda path: ".dist-info" in path.relative_to(folder).parts[0])
    description = next(path for path in folder.iterdir() if path.name.endswith(".dist-info"))
    record = []
    new = out.with_suffix(".new")
    with zipfile.ZipFile(new, "w") as archive:
        for path in files:
            name, content = path.relative_to(folder).as_posix(), path.read_bytes()
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            archive.writestr(entry(name, mode), content, compresslevel=level)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
        name = f"{description.name}/RECORD"
        archive.writestr(entry(name, 0o644), "\n".join([*record, f"{name},,"]) + "\n", compresslevel=level)
    new.replace(out)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
