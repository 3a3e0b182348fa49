"""`%%cuda` cells on the emulated device: right ones, the mistakes of people who learn, and what a mistake leaves behind.

Expected values are by hand. Every launch is checked, so that what is wrong is said with its line.
"""

import re
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver import PATIENCE, Kernel

KERNELS = """%%cuda
__global__ void add_one(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1.0f;
}
__global__ void no_guard(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void block_sum(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
__global__ void no_barrier(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void count(const int* data, unsigned* bins, int n) {
    int i = threadIdx.x;
    if (i < n) bins[data[i]]++;
}
__global__ void not_cleared(const int* data, unsigned* bins) {
    __shared__ unsigned own[4];
    atomicAdd(&own[data[threadIdx.x]], 1u);
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
__global__ void two_barriers(float* data) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    data[threadIdx.x] = 1;
}
__global__ void leaves_early(float* data, int n) {
    if (threadIdx.x >= n) return;
    data[threadIdx.x] = 1;
    __syncthreads();
}
__global__ void reverse(int* data) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__global__ void place(int* data, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) data[y * width + x] = 10 * y + x;
}
__global__ void hello(int n) { printf("thread %d says %d\\n", threadIdx.x, n); }
__global__ void forever(float* data) {
    data[0] = 7;
    while (true) {}
}
__global__ void tree(const float* in, float* out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2)
        if (t < half) tile[t] += tile[t + half];
    if (t == 0) out[0] = tile[0];
}
__device__ int counter;
__global__ void counts(int* data) {
    counter++;
    data[threadIdx.x] = 1;
}
__global__ void beside(float* data, int n) {
    float own[4] = {1, 2, 3, 4};
    data[threadIdx.x] = own[n] / (12 / n);
}
"""


@pytest.fixture(scope="module")
def running(kernelspecs, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="onrush-c") as folder:
        # Whatever this machine has: only there accesses are checked. With a session of its own, that other files' tests do not meet.
        patch.setenv("ONRUSH_ENGINE", "emulated")
        patch.setenv("ONRUSH_RUNTIME_DIR", folder)
        kernel = Kernel(kernelspecs, tmp_path_factory.mktemp("notebook"))
        kernel.ok(KERNELS)
        kernel.ok("let mut kept: Buffer<f32> = (0..64).map(|i| i as f32).collect();")
        yield kernel
        kernel.close()


def test_kernels_are_functions(running):
    assert "add_one(blocks, threads, data: &mut Buffer<f32>, n: i32)" in running.ok(KERNELS).result
    launched = running.ok("let mut data = Buffer::from([1.0f32, 2.0, 3.0]);\nadd_one(1, 32, &mut data, 3)").result
    assert launched.startswith("add_one: 1 block of 32 threads, ") and "12 bytes at" in launched, launched
    assert running.value("data.to_vec()") == "[2.0, 3.0, 4.0]"
    # 0 + … + 63 = 2016, 64 + … + 127 = 6112
    cell = "let input: Buffer<f32> = (0..128).map(|i| i as f32).collect();\nlet mut sums = Buffer::zeros(2);\n"
    assert running.ok(cell + "block_sum(2, 64, &input, &mut sums); sums").result == "[2016.0, 6112.0]"


def test_shapes_shared_memory_and_output(running):
    assert running.ok("let mut r = Buffer::from([1, 2, 3, 4]);\nreverse(1, 4.shared(16), &mut r); r").result == "[4, 3, 2, 1]"
    grid = "let mut m = Buffer::<i32>::zeros(6);\nplace((2, 1), (2, 2), &mut m, 3, 2); m"
    assert running.ok(grid).result == "[0, 1, 2, 10, 11, 12]"
    assert running.ok("hello(1, 2, 7);").stdout == "thread 0 says 7\nthread 1 says 7\n"


def test_columns_of_frames(running):
    cell = "let f = frame! { x: [1.5f32, 2.5], y: [Some(1.0f32), None] };\nlet mut x = Buffer::from(f.column::<f32>(\"x\"));\n"
    assert running.ok(cell + "add_one(1, 2, &mut x, 2); frame! { x: x }.column::<f32>(\"x\").to_vec()").result == "[2.5, 3.5]"
    assert "`y` has 1 null" in running.fails('let y = Buffer::from(f.column::<f32>("y"));').error_text


TOTAL = """%%cuda
__global__ void total(const double* in, double* out, int n) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    out[threadIdx.x] = sum;
}
__global__ void twice(double* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}
"""
# How many buffers this process has whose contents are in a device's memory: on the emulated device that is a memory file.
LENT = """fn lent() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    links.filter(|link| link.to_string_lossy().contains("memfd:onrush-buffer ")).count()
}"""
LONG = """let long = frame! { x: (0..200_000).map(|i| i as f64).collect::<Vec<_>>(), n: (0..200_000).collect::<Vec<i64>>() }.persist();
let short = frame! { x: [1.5, 2.5], y: [Some(1.0), None] }.persist();
"""


def test_columns_of_frames_go_to_kernels_past_the_host(running):
    running.ok(TOTAL)
    running.ok(LENT)
    running.ok(LONG)
    # 0 + … + 199999 = 199999 * 100000
    cell = """let before = lent();
let x = long.buffer::<f64>("x");
let mut sums = Buffer::<f64>::zeros(64);
total(1, 64, &x, &mut sums, 200_000);
(lent() - before, x.len(), sums.iter().sum::<f64>())"""
    assert running.ok(cell).result == "(1, 200000, 19999900000.0)"
    # Rust reads it, a kernel writes into a copy, and the frame is what it was.
    cell = """let mut doubled = x.clone();
twice(782, 256, &mut doubled, 200_000);
(x[199_999], doubled[199_999], doubled.iter().sum::<f64>(), long.buffer::<f64>("x") == x)"""
    assert running.ok(cell).result == "(199999.0, 399998.0, 39999800000.0, true)"
    running.fails('twice(782, 256, &mut doubled, 200_000); panic!("enough")')
    assert running.value("(x[199_999], doubled[199_999])") == "(199999.0, 399998.0)"
    # A fault does not take it along: nothing was read of this one before.
    running.ok('let lasting = long.buffer::<f64>("x");')
    running.fails("no_guard(2, 64, &mut kept)")
    summed = "total(1, 64, &lasting, &mut sums, 200_000);\n(lasting[199_999], sums.iter().sum::<f64>())"
    assert running.ok(summed).result == "(199999.0, 19999900000.0)"
    # A few values, and those of another type, go over the host.
    cell = """let before = lent();
let few = short.buffer::<f64>("x");
let cast = long.buffer::<f64>("n");
(lent() - before, few.to_vec(), cast[199_999])"""
    assert running.ok(cell).result == "(0, [1.5, 2.5], 199999.0)"


@pytest.mark.parametrize(
    "what", ['short.KIND::<f64>("y")', 'long.KIND::<f64>("z")', 'long.KIND::<bool>("x")', 'frame! { t: ["a"] }.KIND::<f64>("t")']
)
def test_a_buffer_has_the_errors_of_a_column(running, what):
    running.ok(LONG)
    of_column, of_buffer = (running.fails(what.replace("KIND", kind)).error_text for kind in ("column", "buffer"))
    as_column = re.sub(r"In \[\d+\]", "In []", of_buffer.replace(".buffer::", ".column::"))
    assert as_column == re.sub(r"In \[\d+\]", "In []", of_column)


@contextmanager
def kernel_in(kernelspecs, folder, engine, memory):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="onrush-c") as runtime:
        patch.setenv("ONRUSH_ENGINE", engine)
        patch.setenv("ONRUSH_DEVICE_MEMORY", memory)
        patch.setenv("ONRUSH_RUNTIME_DIR", runtime)
        kernel = Kernel(kernelspecs, folder)
        try:
            for cell in (TOTAL, LENT, LONG):
                kernel.ok(cell)
            yield kernel
        finally:
            kernel.close()


# The second engine has room for the column, and none for a copy.
@pytest.mark.parametrize(("engine", "memory"), [("cpu", "1G"), ("emulated", "2M")])
def test_columns_go_to_kernels_over_the_host(kernelspecs, tmp_path, engine, memory):
    with kernel_in(kernelspecs, tmp_path, engine, memory) as kernel:
        cell = """let x = long.buffer::<f64>("x");
let mut sums = Buffer::<f64>::zeros(64);
total(1, 64, &x, &mut sums, 200_000);
(lent(), x.len(), sums.iter().sum::<f64>())"""
        assert kernel.ok(cell).result == "(0, 200000, 19999900000.0)"


def test_a_column_for_which_kernels_have_no_room_is_there_for_rust(kernelspecs, tmp_path):
    with kernel_in(kernelspecs, tmp_path, "emulated", "4M") as kernel:
        # 3.2 MB lie on the kernels' device, and the column has 1.6 MB.
        cell = """let large = Buffer::<f64>::zeros(400_000);
let mut sums = Buffer::<f64>::zeros(64);
total(1, 64, &large, &mut sums, 64);
let x = long.buffer::<f64>("x");
(lent(), x[199_999])"""
        assert kernel.ok(cell).result == "(0, 199999.0)"
        cell = """drop(large);
total(1, 64, &x, &mut sums, 200_000);
let y = long.buffer::<f64>("x");
(lent(), sums.iter().sum::<f64>(), x == y)"""
        assert kernel.ok(cell).result == "(1, 19999900000.0, true)"


CHECKED = """%%cuda check
__global__ void add_two(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += 2.0f;
}
"""


def workers(of):
    """The engines that the environments of a process's workers ask for."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == of and b"worker" in process.joinpath("cmdline").read_bytes().split(b"\0"):
                environment = process.joinpath("environ").read_bytes().split(b"\0")
                found += [entry.split(b"=")[1].decode() for entry in environment if entry.startswith(b"ONRUSH_ENGINE=")]
        except OSError:
            # It ended meanwhile, or is another user's.
            continue
    return sorted(found)


def test_a_checked_cell_shares_buffers_with_the_others(kernelspecs, tmp_path):
    with kernel_in(kernelspecs, tmp_path, "cpu", "1G") as kernel:
        kernel.ok(KERNELS)
        assert kernel.ok(CHECKED).result == "add_two(blocks, threads, data: &mut Buffer<f32>, n: i32)"
        # A megabyte and more of results of the other cells stays on their device.
        cell = """let n = 1 << 19;
let mut large = Buffer::<f32>::zeros(n);
add_one(n / 256, 256, &mut large, n as i32);
let told = add_two(n / 256, 256, &mut large, n as i32);
add_one(n / 256, 256, &mut large, n as i32);
large.iter().map(|x| *x as f64).sum::<f64>() / n as f64"""
        assert kernel.ok(cell).result == "4.0"
        assert "each access checked" in kernel.ok("told").result
        # Not that of the session: on a machine with a GPU the first one would have it.
        assert workers(int(kernel.ok("println!(\"{}\", std::process::id());").stdout)) == ["cpu", "emulated"]
        fault = kernel.fails("let mut few = Buffer::<f32>::zeros(1000);\nadd_two(4, 256, &mut few, 1000);").error_text
        assert "reads `data[1000]`, and `data` has 1000 elements" in fault and "4 |" in fault, fault
        assert kernel.ok("large[0]").result == "4.0"


def test_other_words_after_the_magic_are_said(running):
    error = running.fails(CHECKED.replace("check", "chekc")).error_text
    assert "`%%cuda` takes `check` or nothing, not `chekc`" in error and "`%%cuda check` runs the CUDA kernels" in error, error


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ("no_guard(2, 64, &mut kept)", ["thread (0,0,0) of block (1,0,0) writes `data[64]`", "7 |", "if (i < n)"]),
        ("let input = kept.clone(); no_barrier(1, 64, &input, &mut kept)", ["race", "`tile[", "__syncthreads", "21 |", "22 |"]),
        ("count(1, 4, &Buffer::from([1, 1, 1, 1]), &mut Buffer::zeros(2), 4)", ["race", "`bins[1]`", "atomicAdd", "26 |"]),
        ("not_cleared(1, 4, &Buffer::from([0, 1, 2, 3]), &mut Buffer::zeros(4))", ["`own[0]`", "no thread of its block has written"]),
        ("two_barriers(1, 64, &mut kept)", ["different barriers", "36 |", "38 |"]),
        ("leaves_early(1, 64, &mut kept, 32)", ["thread (32,0,0) never reaches", "45 |"]),
        ("reverse(1, 4, &mut Buffer::from([1, 2, 3, 4]))", ["`tile[0]`, and `tile` has 0 elements", "256.shared(bytes)", "49 |"]),
        ("let input = kept.clone(); tree(1, 64, &input, &mut kept)", ["race", "`tile[1]`", "68 |", "----- read here", "then write"]),
        ("counts(1, 4, &mut Buffer::zeros(4))", ["race", "`counter`", "atomicAdd(&counter", "73 |"]),
        ("beside(1, 1, &mut kept, 4)", ["uses `own[4]`, and `own` has 4 elements", "78 |", "uses `own[4]` here"]),
        ("beside(1, 1, &mut kept, 0)", ["divides an integer by zero", "78 |", "the divisor is 0 here"]),
        ("add_one(1, 2048, &mut kept, 64)", ["2048 threads in a block", "1024"]),
        ("add_one(0, 64, &mut kept, 64)", ["0 blocks"]),
        ("add_one(1, 64, &mut kept)", ["argument #4 of type `i32` is missing", "__global__ void add_one"]),
        ("add_one(1, 64, &mut vec![1.0f32], 1)", ["expected `&mut Buffer<f32>`", "Buffer::from("]),
        ("add_one(1, 64, &kept, 64)", ["differ in mutability", "`&mut kept`"]),
        ("add_one(1, 64, &mut kept, kept.len() as i32)", ["`let n = kept.len() as i32;`"]),
        ("block_sum(1, 64, &kept, &mut kept)", ["`let before = kept.clone();`"]),
        ("add_one<<<1, 64>>>(&mut kept, 64)", ["like a function", "`add_one(1, 64, …)`"]),
    ],
)
def test_mistakes_are_said_with_their_line(running, launch, said):
    text = running.fails(launch).error_text
    assert [part for part in said if part not in text] == [], text
    assert running.value("kept.iter().sum::<f32>()") == "2016.0", "a failed cell leaves buffers as they were"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__global__ void k(float* a) {\n    a[i] = 1;\n}", ["`i` was not declared", "line 3"]),
        ("__global__ void k(float* a) {\n    a[0] = 1\n}", ["expected `;`", "line 3"]),
        ("__global__ void k(const float* a) { a[0] = 1; }", ["read-only", "`const`"]),
        ("__global__ int k(float* a) {}", ["returns `int`", "void"]),
        ("__global__ void k(float** a) {}", ["pointer to pointers", "row * width"]),
        ("#include <vector>\n__global__ void k() {}", ["`vector`", "line 2"]),
        ("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }", ["launched from a Rust cell", "line 3"]),
        ("__global__ void k(float* a) {\n    int i = 0\n    a[i] = 1;\n}", ["expected `,` or `;`", "end of the statement before"]),
        ("__global__ void k(float* a) {\n    __syncthread();\n}", ["did you mean `__syncthreads`?", "line 3"]),
        ("__global__ void k(int n) { __shared__ int s[n]; }", ["length of `s` is not known", "extern __shared__"]),
        ("__global__ void k() { __shared__ int sum = 0; }", ["`sum` is `__shared__`", "if (threadIdx.x == 0) sum = "]),
        ("__global__ void k(int* a) {\n    if (a) {\n}", ["this `{` has no `}`", "line 2"]),
        ("__device__ int f(int x);\n__global__ void k(int* a) { a[0] = f(1); }", ["`f` is declared, and nothing", "line 2"]),
        ('__global__ void k() {\n    printf("hello);\n}', ['missing terminating " character']),
        ("__global__ void k(long* a, int n) { a[0] = max(a[0], n); }", ["ambiguous", "of one type"]),
        ("namespace a {\n__global__ void k() {}\n}", ["inside of a namespace", "line 3"]),
        ("#ifdef NEVER\n__global__ void k() {}\n#endif", ["`k` has no definition", "line 3"]),
        ("__global__ void exp(float* a) { a[0] = 1; }", ["a function that CUDA has", "`exp_kernel`"]),
        ("__global__ void loop(float* a) { a[0] = 1; }", ["a word of Rust", "`loop_kernel`"]),
        ("__global__ void k(float* a) { extern __shared__ float s; s = a[0]; }", ["`extern __shared__ float s[];`", "256.shared(bytes)"]),
        ("#include <cub/cub.cuh>\n__global__ void k() {}", ["CUB is not there", "line 2"]),
    ],
)
def test_cells_that_do_not_compile(running, text, said):
    found = running.fails("%%cuda\n" + text).error_text
    assert [part for part in said if part not in found] == [], found


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("__global__ void k(int* a) { a[0] = 1; }", "whose first line is `%%cuda`"),
        ("#include <cstdio>\n__global__ void k(int* a) { a[0] = 1; }", "whose first line is `%%cuda`"),
        ("%%CUDA\n__global__ void k(int* a) { a[0] = 1; }", "did you mean `%%cuda`?"),
        ("%% cuda\n__global__ void k(int* a) { a[0] = 1; }", "did you mean `%%cuda`?"),
    ],
)
def test_cuda_in_a_cell_of_rust(running, cell, said):
    assert said in re.sub(r"\s+", " ", running.fails(cell).error_text)


def test_headers_constants_and_static_kernels(running):
    text = "#include <climits>\n#include <cstring>\n#include <vector_types.h>\n#if 0\n__global__ void off(int* a) {}\n#endif\n"
    text += "static __global__ void limits(int* a) { a[0] = INT_MAX; a[1] = FLT_MAX < INFINITY; a[2] = sqrt(a[2]); }"
    assert "off" not in running.ok("%%cuda\n" + text).result
    assert running.ok("let mut a = Buffer::from([0, 0, 16]);\nlimits(1, 1, &mut a); a").result == "[2147483647, 1, 4]"


def test_variables_of_kernels_begin_anew_when_a_cell_fails(kernelspecs, tmp_path, monkeypatch):
    # In a notebook without such variables at first.
    said = "`__device__` variables of `%%cuda` cells begin anew"
    with tempfile.TemporaryDirectory(prefix="onrush-c") as folder:
        monkeypatch.setenv("ONRUSH_ENGINE", "emulated")
        monkeypatch.setenv("ONRUSH_RUNTIME_DIR", folder)
        fresh = Kernel(kernelspecs, tmp_path)
        assert said not in fresh.fails('panic!("no")').error_text
        fresh.ok("%%cuda\n__device__ int calls = 5;\n__global__ void call(int* a) { a[0] = ++calls; }")
        fresh.ok("let mut a = Buffer::from([0]);")
        assert fresh.ok("call(1, 1, &mut a); call(1, 1, &mut a); a").result == "[7]"
        assert said in re.sub(r"\s+(= )?", " ", fresh.fails('panic!("no")').error_text)
        assert fresh.ok("call(1, 1, &mut a); a").result == "[6]"
        fresh.close()


def test_a_cell_that_is_corrected_defines_its_kernels_again(running):
    running.ok("%%cuda\n__global__ void set(int* a) { a[0] = 1; }")
    assert running.ok("let mut a = Buffer::from([0]);\nset(1, 1, &mut a); a").result == "[1]"
    running.ok("%%cuda\n__global__ void set(int* a, int to) { a[0] = to; }")
    assert running.ok("set(1, 1, &mut a, 5); a").result == "[5]"


def test_an_endless_kernel_ends_with_the_interrupt(running):
    running.ok("add_one(1, 64, &mut kept, 0);")
    begun = time.monotonic()
    message = running.client.execute('println!("started"); forever(1, 1, &mut kept)')
    while running.client.get_iopub_msg(timeout=PATIENCE)["content"].get("text") != "started\n":
        pass
    running.interrupt()
    assert running.wait(message, begun).status == "error"
    assert time.monotonic() - begun < 20, "it takes 50 ms; the rest is room for a busy machine"
    assert running.value("kept.iter().sum::<f32>()") == "2016.0"
    assert running.ok("let mut fresh = Buffer::from([1.0f32]);\nadd_one(1, 1, &mut fresh, 1); fresh").result == "[2.0]"


def test_an_error_that_is_caught_leaves_the_buffer(running):
    cell = "let mut b = Buffer::from([1.0f32, 2.0]);\nlet failed = attempt(|| no_guard(1, 32, &mut b)).is_err();\n(failed, b.to_vec())"
    assert running.ok(cell).result == "(true, [1.0, 2.0])"


def test_large_buffers_stay_on_the_device(running):
    many = "let mut many = Buffer::<f32>::zeros(300_000);\nadd_one(1172, 256, &mut many, 300_000);\nadd_one(1172, 256, &mut many, 100_000);\n"
    shown = " ".join(running.ok(many + "many").result.split())
    assert shown.startswith("[ 2.0, 2.0, ") and shown.endswith("…, 1.0, 1.0, 1.0, ], 300000 in all"), shown
    # A copy is of its time, and what Rust writes goes back to the device.
    cell = "let copy = many.clone();\nadd_one(1172, 256, &mut many, 300_000);\nmany[299_999] = 5.0;\nadd_one(1172, 256, &mut many, 300_000);\n"
    assert running.ok(cell + "(copy[299_999], many[0], many[299_999], many.len())").result == "(1.0, 4.0, 6.0, 300000)"
    assert running.value("many.iter().sum::<f32>()") == str(4.0 * 100_000 + 3.0 * 199_999 + 6.0)
    assert running.ok("frame! { x: many.clone() }.column::<f32>(\"x\").to_vec()[99_999..100_001].to_vec()").result == "[4.0, 3.0]"
    variables = running.ok(":vars").bundles[0]["text/plain"].splitlines()
    assert any("mut many" in line and "[4.0, 4.0" in line for line in variables), variables


@pytest.mark.parametrize(
    "ends", ['panic!("enough")', "no_guard(1172, 256, &mut many)", "no_guard(1, 32, &mut Buffer::from([1.0f32]))"]
)
def test_a_cell_that_fails_leaves_large_buffers(running, ends):
    running.ok("let mut many = Buffer::<f32>::zeros(300_000); add_one(1172, 256, &mut many, 300_000);")
    running.fails("add_one(1172, 256, &mut many, 300_000); " + ends)
    assert running.value("(many[0], many[299_999])") == "(1.0, 1.0)"
    caught = "add_one(1172, 256, &mut many, 300_000); let failed = attempt(|| no_guard(1172, 256, &mut many)).is_err();"
    assert running.ok(caught + " (failed, many[0], many[299_999])").result == "(true, 2.0, 2.0)"


def test_an_interrupt_leaves_large_buffers(running):
    running.ok("let mut many = Buffer::<f32>::zeros(300_000); add_one(1172, 256, &mut many, 300_000);")
    begun = time.monotonic()
    cell = 'add_one(1172, 256, &mut many, 300_000); println!("started"); forever(1, 1, &mut many)'
    message = running.client.execute(cell)
    while running.client.get_iopub_msg(timeout=PATIENCE)["content"].get("text") != "started\n":
        pass
    running.interrupt()
    assert running.wait(message, begun).status == "error"
    assert running.value("(many[0], many[299_999])") == "(1.0, 1.0)"
