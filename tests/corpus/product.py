"""Reads files through `onrush run`, as a notebook does, and writes each frame as Arrow IPC for the comparison.

One cell reads all files in a loop and logs each step. If the log stops growing or the program ends early, the file that
was begun last is at fault, and a new program goes on behind it.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# Seconds. The largest file has strings of 2 GB, which a development build decodes for three minutes.
PATIENCE = 300

CELL = """
let todo = std::fs::read_to_string("@TODO@")?;
let mut log = std::fs::OpenOptions::new().append(true).create(true).open("@LOG@")?;
for line in todo.lines() {
    use std::io::Write;
    let parts: Vec<&str> = line.splitn(3, '\\t').collect();
    let (number, kind, path) = (parts[0], parts[1], parts[2]);
    writeln!(log, "begin\\t{number}")?;
    let mut stage = "read";
    let outcome = attempt(|| {
        let frame = match kind {
            "parquet" => read_parquet(path),
            "ipc" => read_ipc(path),
            "avro" => read_avro(path),
            "orc" => read_orc(path),
            "csv" => read_csv(path),
            "json" => read_json(path),
            _ => read(path),
        };
        stage = "write";
        frame.write_ipc(format!("@FOLDER@/{number}.arrow"))
    });
    match outcome {
        Ok(rows) => writeln!(log, "read\\t{number}\\t{rows}")?,
        Err(error) => {
            let class = format!("{:?}", error.class);
            let message = error.message.replace(['\\n', '\\t'], " ");
            writeln!(log, "error\\t{number}\\t{stage}\\t{class}\\t{}\\t{message}", error.code)?
        }
    }
}
"""


@dataclass
class Answer:
    """The product's answer to one file: `read` with the file of its rows, `error`, or `crash`."""

    kind: str
    rows: Path | None = None
    code: str = ""
    message: str = ""


def ask(binary, files, folder):
    """The answers to `files`, pairs of a kind of file and its path, in their order. Rows are written below `folder`."""
    answers = [None] * len(files)
    folder.mkdir(parents=True, exist_ok=True)
    while None in answers:
        before = answers.count(None)
        one_run(binary, files, folder, answers)
        if answers.count(None) == before:
            raise SystemExit("error: `onrush run` does not run the cell that reads files")
    return answers


def one_run(binary, files, folder, answers):
    todo, log, notebook = (folder / name for name in ("todo.tsv", "log.tsv", "read.ipynb"))
    log.unlink(missing_ok=True)
    lines = [f"{n}\t{kind}\t{path}\n" for n, (kind, path) in enumerate(files) if answers[n] is None]
    todo.write_text("".join(lines))
    source = CELL.replace("@TODO@", str(todo)).replace("@LOG@", str(log)).replace("@FOLDER@", str(folder)).strip()
    cell = {"cell_type": "code", "id": "read", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
    spec = {"name": "onrush", "display_name": "Onrush", "language": "rust"}
    whole = {"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    notebook.write_text(json.dumps(whole))
    with tempfile.TemporaryFile() as output:
        command = [binary, "run", str(notebook), "-o", str(folder / "ran.ipynb")]
        program = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        hung = not watched(program, log)
        if hung:
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        output.seek(0)
        said = output.read().decode(errors="replace").strip().splitlines()[-3:]
    begun = taken(log, folder, answers)
    if begun is not None:
        answers[begun] = Answer("crash", code="hang" if hung else "crash", message=" ".join(said))
    elif log.exists() is False and said:
        print("\n".join(said))


def watched(program, log):
    """Whether the program ended by itself. The first cell also compiles, which takes longer than a file."""
    size, since = 0, time.monotonic() + PATIENCE
    while program.poll() is None:
        now = log.stat().st_size if log.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > PATIENCE:
            return False
        time.sleep(0.05)
    return True


def taken(log, folder, answers):
    """Enters the answers of a log. Gives the file that was begun and not ended."""
    begun = None
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        word, number, *rest = line.split("\t")
        number = int(number)
        begun = number if word == "begin" else None
        if word == "read":
            answers[number] = Answer("read", rows=folder / f"{number}.arrow")
        elif word == "error":
            stage, class_, code, message = rest
            # A diagnostic of a lost process or of an inner error is a crash.
            lost = class_ == "Internal" or code in ("engine-died", "session-restarted", "session-lost")
            kind = "crash" if lost else "error" if stage == "read" else "unwritten"
            answers[number] = Answer(kind, code=code, message=message)
    return begun
