"""Calls of `onrush-learn-check`, and trained models as objects that can be copied and pickled."""

import atexit
import json
import math
import os
import subprocess
import threading

import numpy as np

_lock = threading.RLock()
_process = None

# Models that are no longer used. They are freed by the next request, because a request may be under way.
_unused = []


class Refused(Exception):
    """Onrush does not have the parameter or take the data: scikit-learn trains."""

    def __init__(self, reason, detail=""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class OnrushError(Exception):
    """An error of a training or a prediction, with its code."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


class Panic(RuntimeError):
    """A panic: always a fault of ours."""


def _engine():
    global _process
    if _process is None or _process[0] != os.getpid() or _process[1].poll() is not None:
        # The data are small: threads would only wait for one another.
        environment = {**os.environ, "RAYON_NUM_THREADS": os.environ.get("RAYON_NUM_THREADS", "1")}
        pipe = subprocess.PIPE
        command = [os.environ["ONRUSH_LEARN_CHECK"]]
        process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe)
        atexit.register(process.kill)
        _process = (os.getpid(), process)
    return _process[1]


def ask(head, *arrays):
    """Sends a request with arrays of numbers. Gives the answer, in which columns have their values."""
    arrays = [np.ascontiguousarray(array, dtype="<f8").ravel() for array in arrays]
    head = {**head, "floats": sum(array.size for array in arrays)}
    with _lock:
        process = _engine()
        if _unused and head["do"] != "free":
            while _unused:
                ask({"do": "free", "model": _unused.pop()})
        try:
            process.stdin.write(json.dumps(head, allow_nan=False).encode() + b"\n")
            for array in arrays:
                process.stdin.write(array.tobytes())
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            floats = np.frombuffer(process.stdout.read(8 * answer["floats"]), dtype="<f8")
        except (BrokenPipeError, json.JSONDecodeError) as error:
            raise Panic(f"the process ended in {head.get('do')} of {head.get('spec')}") from error
    if error := answer.get("error"):
        if error["code"] == "panic":
            raise Panic(f"{head.get('spec') or head.get('method')}: {error['message']}")
        raise OnrushError(error)
    return _filled(answer, _Reader(floats))


class _Reader:
    def __init__(self, floats):
        self.floats = floats
        self.at = 0

    def take(self, count):
        self.at += count
        return self.floats[self.at - count : self.at].copy()


def _filled(answer, reader):
    """The answer with numbers, in the order in which they were written."""
    for attribute in answer.get("attributes", []):
        for columns in (attribute.get("frame"), attribute.get("float")):
            _fill(columns, reader)
    _fill(answer.get("transformed"), reader)
    _fill(answer.get("columns"), reader)
    answer["rest"] = reader.floats[reader.at :]
    return answer


def _fill(columns, reader):
    for column in columns or []:
        if "rows" in column:
            column["values"] = reader.take(column["rows"])


def plain(value):
    """A parameter as JSON has it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufUb":
        return [plain(v) for v in value.tolist()]
    raise Refused("parameter", type(value).__name__)


def table():
    """The estimators by name."""
    return {entry["name"]: entry for entry in ask({"do": "table"})["table"]}


class Model:
    """A trained model in the process. A copy is the same model; a pickle has the bytes of its file."""

    def __init__(self, number, outputs, notes):
        self.number = number
        self.outputs = outputs
        self.notes = notes
        self.pid = os.getpid()
        self.process = _process[1]

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        saved = ask({"do": "save", "model": self.number})["rest"]
        return _load, (saved.astype(np.uint8).tobytes(), self.outputs, self.notes)

    def __del__(self):
        if _process is not None and self.pid == os.getpid() and _process[1] is self.process:
            _unused.append(self.number)

    def apply(self, method, rows=0, columns=(), arrays=()):
        head = {"do": "apply", "model": self.number, "method": method, "rows": rows, "columns": list(columns)}
        return ask(head, *arrays)["columns"]


def _load(saved, outputs, notes):
    answer = ask({"do": "load"}, np.frombuffer(saved, dtype=np.uint8))
    return Model(answer["model"], outputs, notes)
