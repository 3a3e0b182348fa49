"""`__device__` functions of `%%cuda` cells in `x!`, on the emulated device and on the CPU: values, mistakes, and functions without an end.

Expected values are by hand; the distances are those of Python's `math`: 21.773 and 877.463 km.
"""

import tempfile
import time

import pytest
from driver import PATIENCE, Kernel

FUNCTIONS = """%%cuda
#include <math.h>
#define EARTH 6371.0f

__device__ float rad(float degrees) { return degrees * 0.017453292f; }

/// The distance of two places in km.
__device__ float haversine(float lat1, float lon1,
                           float lat2, float lon2) {
    float a = sinf(rad(lat2 - lat1) / 2), b = sinf(rad(lon2 - lon1) / 2);
    return 2 * EARTH * asinf(sqrtf(a * a + cosf(rad(lat1)) * cosf(rad(lat2)) * b * b));
}
__device__ long long steps(long long n) {
    long long steps = 0;
    while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; steps++; }
    return steps;
}
__device__ float at(const float* data, int i) { return data[i]; }
__device__ float clip(float x, float top) { return x < top ? x : top; }
__device__ float sqrt(float x, float y) { return x + y; }
__global__ void all_steps(const int* n, int* out) { out[threadIdx.x] = (int)steps(n[threadIdx.x]); }
"""

TRIPS = """let trips = frame! {
    from_lat: [40.6413, 52.52], from_lon: [-73.7781, 13.405], to_lat: [40.7580, 48.8566], to_lon: [-73.9855, 2.3522],
    n: [6, 27], name: ["JFK", "BER"],
};"""


@pytest.fixture(scope="module", params=["emulated", "cpu"])
def running(request, kernelspecs, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="onrush-f") as folder:
        patch.setenv("ONRUSH_ENGINE", request.param)
        patch.setenv("ONRUSH_RUNTIME_DIR", folder)
        kernel = Kernel(kernelspecs, tmp_path_factory.mktemp("notebook"))
        kernel.ok(FUNCTIONS)
        kernel.ok(TRIPS)
        yield kernel
        kernel.close()


def column(running, cell):
    return running.ok(cell).result


def test_functions_of_a_cell_are_functions_of_expressions(running):
    shown = running.ok(FUNCTIONS).result
    assert "x!(haversine(lat1: f32, lon1: f32, lat2: f32, lon2: f32)) -> f32" in shown, shown
    assert "all_steps(blocks, threads, " in shown and "`sqrt` cannot be called in `x!`" in shown, shown
    assert "data" not in shown, "a helper of kernels is no news"
    cell = "let far = trips.with_columns(x!(km = haversine(from_lat, from_lon, to_lat, to_lon)));\n"
    assert column(running, cell + 'far.select(x!(km.round(2))).column::<f32>("km").to_vec()') == "[21.77, 877.46]"
    kept = 'trips.filter(x!(steps(n) > 10 && clip(n, {20.0}) == 20)).column::<String>("name").to_vec()'
    assert column(running, kept) == '["BER"]'
    mean = 'trips.select(x!(s = mean(steps(n)))).column::<f64>("s").to_vec()'
    assert column(running, mean) == "[59.5]"
    # Beside `x!`, and beside the kernel that calls the same function.
    assert column(running, 'trips.select(steps(col("n")).alias("s")).column::<i64>("s").to_vec()') == "[8, 111]"
    launch = "let mut out = Buffer::zeros(2);\nall_steps(1, 2, &Buffer::from([6, 27]), &mut out); out"
    assert column(running, launch) == "[8, 111]"
    assert "filter steps(n as i64) > 10" in running.ok("trips.filter(x!(steps(n) > 10)).explain()").result


def test_a_cell_may_have_functions_only(running):
    shown = running.ok("%%cuda\n__device__ bool is_odd(int n) { return n % 2; }").result
    assert shown == "x!(is_odd(n: i32)) -> bool"
    assert column(running, 'trips.filter(x!(is_odd(n))).column::<String>("name").to_vec()') == '["BER"]'


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("trips.filter(x!(steps(n, n) > 1))", ["takes 1 argument but 2 arguments were supplied"]),
        ("trips.select(x!(c = clip(n)))", ["argument #2 is missing"]),
        ("trips.filter(x!(steps(name) > 1))", ["`n` of `steps` is `i64`, but this is `str`", '.cast("i64")']),
        ("trips.filter(x!(steps(from_lat) > 1))", ["`n` of `steps` is `i64`, but this is `f64`", "round()"]),
        ("trips.select(x!(a = at(n, 1)))", ["`at` cannot be called in `x!`: its parameter `data` is a pointer"]),
        ("%%cuda\n__device__ float f(float x) { return x + y; }", ["`y` was not declared", "line 2"]),
        ("%%cuda\n__device__ float f(float* x) { return *x; }", ["no `__global__` function", "`f`: its parameter `x` is a pointer"]),
    ],
)
def test_mistakes(running, cell, said):
    text = running.fails(cell).error_text
    assert [part for part in said if part not in text] == [], text


@pytest.mark.parametrize("call", ["clip(n)", "clip(n, 1, 2)"])
def test_what_x_has_made_of_a_call_is_no_advice(running, call):
    text = running.fails(f"trips.select(x!(c = {call}))").error_text
    assert "help" not in text and text.count("trips.select") == 1, text


def test_names_of_headers_are_there(running):
    text = "#include <float.h>\n__device__ float least(float x) { return fminf(x, FLT_MAX) + sqrt(4) + pow(2, 2) + (x > -INFINITY); }"
    running.ok("%%cuda\n" + text)
    assert column(running, 'trips.select(x!(v = least(n))).column::<f32>("v").to_vec()') == "[13.0, 34.0]"


def test_frames_keep_the_function_that_they_were_made_with(running):
    running.ok("%%cuda\n__device__ int next(int x) { return x + 1; }")
    running.ok("let before = trips.select(x!(v = next(n)));")
    running.ok("%%cuda\n__device__ int next(int x) { return x + 100; }")
    assert column(running, 'before.column::<i32>("v").to_vec()') == "[7, 28]"
    assert column(running, 'trips.select(x!(v = next(n))).column::<i32>("v").to_vec()') == "[106, 127]"


def test_a_function_without_an_end_ends_with_the_interrupt(running):
    running.ok("%%cuda\n__device__ int spin(int x) { volatile int y = x; while (y == x) {} return y; }")
    running.ok("let kept = trips.with_columns(x!(s = steps(n))).persist();")
    for cell in ["trips.select(x!(v = spin(n))).collect()", "trips.filter(x!(spin(n) > 0)).height()"]:
        begun = time.monotonic()
        message = running.client.execute(cell)
        # Its progress is shown: the query runs.
        while running.client.get_iopub_msg(timeout=PATIENCE)["msg_type"] not in ("display_data", "update_display_data"):
            pass
        interrupted = time.monotonic()
        running.interrupt()
        assert running.wait(message, begun).status == "error"
        assert time.monotonic() - interrupted < 5, "it takes 50 ms; the rest is room for a busy machine"
        assert column(running, 'kept.column::<i64>("s").to_vec()') == "[8, 111]"
        assert column(running, 'trips.select(x!(s = steps(n) + 1)).column::<i64>("s").to_vec()') == "[9, 112]"
