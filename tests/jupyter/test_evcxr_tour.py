"""What evcxr's Jupyter tour and README show, in other words: a notebook for that kernel runs from top to bottom on this one. The
expected values are those of evcxr's documentation and of Rust."""

import base64
import socket
import threading

import pytest
from driver import Kernel

# Crates are built once, on a machine that may have other things to do.
BUILDS = 600
MATRIX = r"""
use std::fmt::Debug;
pub struct Grid<T> { pub cells: Vec<T>, pub width: usize }
impl<T: Debug> Grid<T> {
    pub fn evcxr_display(&self) {
        let row = |cells: &[T]| cells.iter().map(|c| format!("<td>{c:?}</td>")).collect::<String>();
        let rows: String = self.cells.chunks(self.width).map(|cells| format!("<tr>{}</tr>", row(cells))).collect();
        println!("EVCXR_BEGIN_CONTENT text/html\n<table>{rows}</table>\nEVCXR_END_CONTENT");
    }
}
"""
PICTURES = r"""
extern crate base64;
extern crate image;
use base64::Engine;
use image::ImageEncoder;
pub trait Shown { fn evcxr_display(&self); }
impl Shown for image::RgbImage {
    fn evcxr_display(&self) {
        let mut png = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut png);
        encoder.write_image(self, self.width(), self.height(), image::ExtendedColorType::Rgb8).unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(&png);
        println!("EVCXR_BEGIN_CONTENT image/png\n{text}\nEVCXR_END_CONTENT");
    }
}
"""


@pytest.fixture(scope="module")
def tour(kernelspecs, tmp_path_factory):
    kernel = Kernel(kernelspecs, tmp_path_factory.mktemp("tour"))
    yield kernel
    kernel.close()


def test_printing_and_values(tour):
    ran = tour.ok('println!("to stdout");\neprintln!("to stderr");\nformat!("a {}", "value")')
    assert (ran.stdout, ran.stderr, ran.result) == ("to stdout\n", "to stderr\n", '"a value"')


def test_variables_and_functions(tour):
    tour.ok('let mut message = "Hello ".to_owned();')
    tour.ok('message.push_str("world!");')
    assert tour.value("message") == '"Hello world!"'
    tour.ok("pub fn fib(x: i32) -> i32 {\n    if x <= 2 {0} else {fib(x - 2) + fib(x - 1)}\n}")
    assert tour.value("(1..13).map(fib).collect::<Vec<i32>>()") == str([0] * 12)
    tour.ok("pub fn fib(x: i32) -> i32 {\n    if x <= 2 {2} else {fib(x - 2) + fib(x - 1)}\n}")
    assert tour.value("let values = (1..13).map(fib).collect::<Vec<i32>>();\nvalues") == "[2, 2, 4, 6, 10, 16, 26, 42, 68, 110, 178, 288]"


def test_a_thread_and_its_lock(tour):
    tour.ok(
        "use std::sync::{Mutex, Arc};\nlet counter = Arc::new(Mutex::new(0i32));\nstd::thread::spawn({\n    let counter = Arc::clone(&counter);\n"
        "    move || {\n        for _ in 1..300 {\n            *counter.lock().unwrap() += 1;\n"
        "            std::thread::sleep(std::time::Duration::from_millis(10));\n        }\n}});"
    )
    first = int(tour.value("*counter.lock()?"))
    tour.ok("std::thread::sleep(std::time::Duration::from_millis(50));")
    assert int(tour.value("*counter.lock()?")) > first >= 0


def test_types_that_show_themselves(tour):
    tour.ok(MATRIX)
    ran = tour.ok("let m = Grid { cells: vec![1, 2, 3, 4], width: 2 };\nm")
    assert [b["text/html"] for b in ran.bundles] == ["<table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"]


def test_crates_and_pictures(tour):
    tour.ok(':dep base64 = "0.22"\n:dep image = { version = "0.25", default_features = false, features = ["png"] }', timeout=BUILDS)
    assert tour.value("base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [1u8, 2, 3, 4])") == '"AQIDBA=="'
    tour.ok(PICTURES)
    ran = tour.ok("image::ImageBuffer::from_fn(16, 8, |x, y| if x == y { image::Rgb([0u8, 0, 255]) } else { image::Rgb([0, 0, 0]) })")
    [png] = [base64.b64decode(b["image/png"]) for b in ran.bundles]
    # PNG's signature, and width and height in its header.
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (16, 8)
    assert "image" in tour.ok(":show_deps").stdout


def test_compilation_errors(tour):
    assert "mismatched types" in tour.fails('let mut s = String::new();\ns.push_str(format!("foo {}", 42));').error_text


def test_await_on_tokio(tour):
    tour.ok(':dep tokio = {version = "1", features = ["full"]}', timeout=BUILDS)
    # As the operating system: there are 65,536 ports.
    text = tour.fails('let mut stream: tokio::net::TcpStream = tokio::net::TcpStream::connect("127.0.0.1:99999").await?;').error_text
    assert "invalid port" in text
    server, heard = socket.create_server(("127.0.0.1", 0)), []

    def listen():
        connection, _ = server.accept()
        heard.append(connection.recv(100))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    port = server.getsockname()[1]
    tour.ok(f'let mut stream: tokio::net::TcpStream = tokio::net::TcpStream::connect("127.0.0.1:{port}").await?;')
    # A cell that fails between: what it leaves of the runtime is what was there.
    tour.fails('tokio::time::sleep(std::time::Duration::from_millis(5)).await; "x".parse::<i32>()?')
    tour.ok('use tokio::io::AsyncWriteExt;\nstream.write_all(b"Hello, world!\\n").await?;')
    thread.join(timeout=30)
    assert heard == [b"Hello, world!\n"]
    assert tour.value("tokio::time::sleep(std::time::Duration::from_millis(5)).await; tokio::spawn(async { 6 * 7 }).await?") == "42"


def test_variables_and_commands(tour):
    assert "message" in tour.ok(":vars").bundles[0]["text/plain"]
    assert ":dep" in tour.ok(":help").stdout
    for command in (":clear_cache", ":fmt {:?}", ":version"):
        text = tour.fails(command).error_text
        assert "help" in text and "did you mean" not in text, text
