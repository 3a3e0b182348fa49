"""`:top` with two notebooks at once, by name; and what lines of progress say of a device."""

import os
import re
import time

import pytest

from driver import PATIENCE, Kernel

LONG = 'sql("select a.n from range(2000000) as a(n), range(2000000) as b(m) where a.n * 7 + b.m = -1").height()'


@pytest.fixture
def named(kernelspecs, tmp_path, monkeypatch):
    """Makes kernels of notebooks, as Jupyter's server names them."""
    kernels = []

    def make(name: str, **environment: str) -> Kernel:
        with monkeypatch.context() as patch:
            for key, value in {"JPY_SESSION_NAME": f"somewhere/{name}.ipynb", **environment}.items():
                patch.setenv(key, value)
            kernels.append(Kernel(kernelspecs, tmp_path))
        return kernels[-1]

    yield make
    for one in kernels:
        one.close()


def test_two_notebooks_have_their_tasks_and_their_memory(named):
    flights, weather = named("Flüge 2013"), named("weather")
    flights.ok("let held = frame! { a: (0..100_000i64).collect::<Vec<_>>() }.persist();")
    weather.ok("let held = frame! { a: (0..500_000i64).collect::<Vec<_>>() }.persist(); let other = frame! { b: [1] }.persist();")
    text = weather.ok(":top").stdout
    # 100,000 and 500,000 numbers of eight bytes.
    rows = dict(re.findall(r"^(\S.*?) +(\d+ +[\d.]+ [kM]B)$", text, re.MULTILINE))
    assert re.fullmatch(r"1 +80\d kB", rows["Flüge 2013"]), text
    assert re.fullmatch(r"2 +[34] MB", rows["this one"]), text

    busy = flights.client.execute(LONG)
    end = time.monotonic() + PATIENCE
    while "no task runs" in (text := weather.ok(":top").stdout):
        assert time.monotonic() < end, text
    assert re.search(r"^Flüge 2013 +\d+ s +\d+ (kB|MB|bytes)  .+$", text.split("task\n")[1], re.MULTILINE), text
    flights.interrupt()
    flights.wait(busy, time.monotonic())
    # Two of one name are told apart.
    twin = named("weather")
    twin.ok("let held = frame! { b: [1, 2] }.persist();")
    text = flights.ok(":top").stdout
    assert len(set(re.findall(r"^weather \([0-9a-f]{4}\)", text, re.MULTILINE))) == 2, text


def test_an_engine_can_be_chosen_before_the_first_frame(named, tmp_path_factory, monkeypatch):
    monkeypatch.delenv("ONRUSH_ENGINE", raising=False)
    kernel = named("chosen", ONRUSH_RUNTIME_DIR=str(tmp_path_factory.mktemp("r")))
    text = kernel.ok(":engine emulated").stdout
    assert re.match(r"engine +emulated", text), text
    # Nothing is held yet: a newer word counts.
    assert re.match(r"engine +cpu", kernel.ok(":engine cpu").stdout)
    kernel.ok("drop(frame! { a: [1] });")
    kernel.ok(":engine emulated")
    assert kernel.ok("let held = frame! { a: [1, 2] };\nheld.height()").result == "2"
    assert re.match(r"engine +emulated", kernel.ok(":engine").stdout)
    assert "runs on `emulated`" in kernel.fails(":engine cpu").error_text
    given = named("given", ONRUSH_ENGINE="cpu", ONRUSH_RUNTIME_DIR=str(tmp_path_factory.mktemp("r")))
    assert "ONRUSH_ENGINE=cpu" in given.fails(":engine emulated").error_text


def test_lines_say_what_is_held_on_the_device(named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    kernel = named("emulated", ONRUSH_ENGINE="emulated", ONRUSH_RUNTIME_DIR=str(folder))
    assert "emulated" in kernel.ok(":engine emulated").stdout
    texts, millions = [], 1
    # How long a query takes is the machine's: the first that has a line is enough.
    while not any("on the device" in text for text in texts) and millions <= 64:
        millions *= 2
        query = "select key, sum(n), min(n), max(n) from rows group by key"
        code = f'''let rows = sql("select n, n % 1000 as key from range({millions}000000) as t(n)").persist();
            sql("{query}").height()'''
        message = kernel.client.execute(code)
        while True:
            got = kernel.client.get_iopub_msg(timeout=PATIENCE)
            if got["msg_type"].endswith("display_data"):
                texts.append(got["content"]["data"]["text/plain"])
            if got["parent_header"].get("msg_id") == message and got["content"].get("execution_state") == "idle":
                break
    assert any(re.search(r" · [\d.]+ MB on the device · ", text) for text in texts), texts
    # Two columns of eight bytes are kept there; the buffers of the query are not.
    held = re.search(r", (\d+) MB on its device \(emulated\)$", kernel.ok(":top").stdout, re.MULTILINE)
    assert held and int(held[1]) >= millions * 16_000_000 >> 20, texts


def test_the_engine_says_where_its_time_went(named, tmp_path, tmp_path_factory):
    kernel = named("phases", ONRUSH_ENGINE="emulated", ONRUSH_RUNTIME_DIR=str(tmp_path_factory.mktemp("r")))

    def spent() -> dict[str, float]:
        line = re.search(r"^time +(.*)$", kernel.ok(":top").stdout, re.MULTILINE)
        return {name: float(time) for name, time in re.findall(r"([a-z ]+?) ([\d.]+) ms", line[1].replace(", ", "\n"))}

    rows = tmp_path / "rows.csv"
    rows.write_text("key,n\n" + "".join(f"text {n % 700},{n}\n" for n in range(200_000)))
    kernel.ok(f'let rows = read_csv("{rows}").persist();')
    read = spent()
    assert read["read"] >= 1 and not {"encode", "upload", "compile", "device"} & set(read), read
    begun = time.perf_counter()
    text = kernel.ok('rows.group_by("key").agg(x!(s = n.sum())).explain_analyze()').result
    took = (time.perf_counter() - begun) * 1e3
    assert re.search(r"^of this: .*encode [\d.]+ ms.*, upload .*, compile .*, device [\d.]+ ms", text, re.MULTILINE), text
    query = {name: time - read.get(name, 0) for name, time in spent().items()}
    assert query["encode"] >= 1 and query["read"] < 1, query
    # On one thread each moment counts once.
    assert sum(query.values()) <= took, (query, took)
