//! The worker as a process, asked as a cell process asks it. On a GPU with `ONRUSH_ENGINE=cuda`, also from a copy of
//! the two programs on a machine without Rust: ONRUSH_WORKER names the other one. Expected values are by hand.

mod more;
mod support;
mod wrong;

use std::time::{Duration, Instant};

use onrush_wire::fd_passing;
use onrush_wire::worker::{ArgumentValue, FromWorker, LENT, ToWorker};

use support::{PARAMETERS, Worker, check, refused, right};

#[test]
fn kernels_compute_and_print() {
    let mut worker = Worker::start();
    let text = "\n__global__ void twice(int* data, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                if (i < n) data[i] *= 2;\n    if (i == 3) printf(\"%d\\n\", data[3]);\n}\n";
    worker.load(text, "twice", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4, 5]);
    let launched = worker.launch(&Worker::message("twice", 2, 4, 0, 5)).unwrap();
    assert_eq!(launched.printed.text, "8\n");
    assert!(launched.nanoseconds > 0);
    assert_eq!(worker.read(1, 5), [2, 4, 6, 8, 10]);
}

#[test]
fn dynamic_shared_memory_is_the_launchs() {
    let mut worker = Worker::start();
    let text = "\n__global__ void reverse(int* data, int n) {\n    extern __shared__ int tile[];\n    \
                tile[threadIdx.x] = data[threadIdx.x];\n    __syncthreads();\n    data[threadIdx.x] = tile[n - 1 - threadIdx.x];\n}\n";
    worker.load(text, "reverse", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4]);
    worker.launch(&Worker::message("reverse", 1, 4, 16, 4)).unwrap();
    assert_eq!(worker.read(1, 4), [4, 3, 2, 1]);
}

#[test]
fn names_of_the_headers_are_there() {
    let mut worker = Worker::start();
    let text = "\n__device__ float low = -INFINITY; __constant__ double none = NAN;\n__global__ void names(int* data, int n) {\n    \
                data[0] = INT_MAX; data[1] = INT_MIN; data[2] = UINT_MAX == 0xffffffffu; data[3] = LLONG_MIN < -INT64_MAX;\n    \
                data[4] = FLT_MAX < INFINITY && low < -FLT_MAX; data[5] = none != none && CUDART_NAN_F != CUDART_NAN_F;\n    \
                data[6] = FLT_EPSILON > FLT_MIN && DBL_EPSILON < FLT_EPSILON && DBL_MAX > FLT_MAX;\n    \
                data[7] = (int)(1000 * M_PI); data[8] = CUDART_INF_F == CUDART_INF; data[9] = (int)(100 * CUDART_PI_F);\n}\n";
    worker.load(text, "names", PARAMETERS).unwrap();
    worker.write(1, &[0; 10]);
    worker.launch(&Worker::message("names", 1, 1, 0, 0)).unwrap();
    assert_eq!(worker.read(1, 10), [i32::MAX, i32::MIN, 1, 1, 1, 1, 1, 3141, 1, 314]);
}

#[test]
fn mathematics_of_whole_numbers_and_of_two_types() {
    let mut worker = Worker::start();
    let text = "\n__global__ void whole(int* data, int n) {\n    long long big = 3; float half = 0.5f; double two = 2;\n    \
                data[0] = sqrt(n); data[1] = pow(2, n); data[2] = floor(n / 2); data[3] = min(threadIdx.x, n); data[4] = max(n, 4u);\n    \
                data[5] = pow(big, 2); data[6] = 100 * pow(half, two); data[7] = fmax(n, 12); data[8] = 10 * min(half, two);\n    \
                data[9] = 10 * __saturatef(half) + 100 * __fdividef(half, half) + __expf(0.0f) + __sinf(0.0f) + __cosf(0.0f)\n        \
                + __logf(1.0f) + __powf(2.0f, 3.0f);\n    \
                unsigned char from[4] = {1, 1, 0, 0}; memcpy(&data[10], from, 4); memset(&data[11], 1, 4); data[12] = clock64() >= 0 && clock() != 1;\n}\n";
    worker.load(text, "whole", PARAMETERS).unwrap();
    worker.write(1, &[0; 13]);
    worker.launch(&Worker::message("whole", 1, 1, 0, 9)).unwrap();
    assert_eq!(worker.read(1, 13), [3, 512, 4, 0, 9, 9, 25, 12, 5, 115, 0x101, 0x0101_0101, 1]);
}

#[test]
fn static_kernels_are_kernels() {
    let mut worker = Worker::start();
    worker.load("\nstatic __global__ void k(int* data, int n) { data[0] = n; }\n", "k", PARAMETERS).unwrap();
    worker.write(1, &[0]);
    worker.launch(&Worker::message("k", 1, 1, 0, 7)).unwrap();
    assert_eq!(worker.read(1, 1), [7]);
}

#[test]
fn a_kernel_without_a_definition_is_said_before_its_launch() {
    let mut worker = Worker::start();
    for text in [
        "\n#ifdef NEVER\n__global__ void k(int* data, int n) {}\n#endif\n",
        "\nnamespace a {\n__global__ void k(int* data, int n) {}\n}\n",
    ] {
        let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
        assert!(diagnostic.message.contains("the kernel `k` has no definition"), "{diagnostic}");
        assert_eq!(diagnostic.labels[0].span.line, 3);
    }
}

#[test]
fn a_missing_semicolon_has_advice() {
    let mut worker = Worker::start();
    let text = "\n__global__ void k(int* data, int n) {\n    int i = 1\n    data[i] = 1;\n}\n";
    let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
    assert!(diagnostic.help[0].contains("`;` at the end of the statement before"), "{diagnostic}");
}

#[test]
fn what_does_not_compile_names_its_line() {
    let mut worker = Worker::start();
    let text = "\n__global__ void k(int* data, int n) {\n    data[0] = m;\n}\n";
    let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
    assert!(diagnostic.message.contains("`m`"), "{diagnostic}");
    let span = &diagnostic.labels[0].span;
    assert_eq!((span.file.as_str(), span.line, span.column, span.length), ("cell_1.rs", 3, 15, 1));
}

#[test]
fn a_fault_is_said() {
    let mut worker = Worker::start();
    let text = "\n__global__ void far(int* data, int n) {\n    data[(long long)n * 1000000000] = 1;\n}\n";
    worker.load(text, "far", PARAMETERS).unwrap();
    worker.write(1, &[1, 2, 3, 4]);
    let diagnostic = worker.launch(&Worker::message("far", 1, 1, 0, 1000)).unwrap_err();
    let said = diagnostic.to_string();
    // A GPU knows that it was wrong, and not where.
    assert!(said.contains("`far`") && (worker.emulated || said.contains("%%cuda check")), "{said}");
    assert!(!worker.emulated || diagnostic.labels[0].span.line == 3, "{said}");
    let mut next = Worker::start();
    next.load(text, "far", PARAMETERS).unwrap();
    next.write(1, &[1, 2]);
    next.launch(&Worker::message("far", 1, 1, 0, 0)).unwrap();
    assert_eq!(next.read(1, 2), [1, 2]);
}

#[test]
fn races_are_shown_where_they_are() {
    let scan = "    __shared__ int s[64];\n    int t = threadIdx.x;\n    s[t] = t;\n    __syncthreads();\n    \
                for (int k = 1; k < 64; k *= 2)\n        if (t >= k) s[t] += s[t - k];";
    let apart = [("s[t - k]", "read here by thread (2,0,0)"), ("s[t]", "written here by thread (1,0,0)")];
    check(
        "",
        scan,
        (1, 64, 0),
        "a race: thread (2,0,0) of block (0,0,0) reads `s[1]`",
        &apart,
        "read into a variable first",
    );
    let shift = "    if (threadIdx.x + 1 < n) data[threadIdx.x] = data[threadIdx.x + 1];";
    let apart = [
        ("data[threadIdx.x]", "written here by thread (1,0,0)"),
        ("data[threadIdx.x + 1]", "read here by thread (0,0,0)"),
    ];
    check("", shift, (1, 32, 32), "writes `data[1]`", &apart, "`__syncthreads();`, then write");
    let across = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    data[i] = data[(i + 32) % 64];";
    let apart = [("data[(i + 32) % 64]", "read here by thread (0,0,0)"), ("data[i]", "written here by thread (0,0,0)")];
    check("", across, (2, 32, 0), "a race", &apart, "a second buffer");
    let pointer = "    int* q = data;\n    *q++ = 2;";
    check(
        "",
        pointer,
        (1, 2, 0),
        "`data[0]`",
        &[("*q++ = 2;", "written here by thread (1,0,0)")],
        "a separate element",
    );
    let counter = "    counter += 1;";
    let once = [("counter", "read here by thread (1,0,0)")];
    check(
        "__device__ int before, counter;",
        counter,
        (1, 2, 0),
        "reads `counter`, which",
        &once,
        "`atomicAdd(&counter, …)`",
    );
}

#[test]
fn warps_that_fail_show_both_places_and_what_to_do() {
    let left = "    if (threadIdx.x >= n) return;\n    data[threadIdx.x] = __shfl_down_sync(0xffffffff, data[threadIdx.x], 1);";
    let place = [("__shfl_down_sync(0xffffffff, data[threadIdx.x], 1)", "")];
    let message = "thread (19,0,0) of block (0,0,0) reads lane 20 of its warp, which has left the kernel";
    check("", left, (1, 32, 20), message, &place, "let all of them take part");
    let other = "    if (threadIdx.x % 2) data[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);\n    else __syncwarp();";
    let both = [("__shfl_sync(0xffffffff, 1, 0)", "thread (31,0,0) is here"), ("__syncwarp()", "lane 0 is here")];
    check("", other, (1, 32, 0), "lane 0 of its warp calls __syncwarp with mask 0xffffffff", &both, "the same call");
    let out = "    data[threadIdx.x] = __shfl_sync(0xffff, 1, 0);";
    check(
        "",
        out,
        (1, 32, 0),
        "which its own lane 16 is not in",
        &[("__shfl_sync(0xffff, 1, 0)", "")],
        "one bit for each",
    );
}

#[test]
fn a_function_without_a_definition_is_said_before_a_launch() {
    let help = "define it in this cell";
    let text =
        "\n__device__ float area(float r);\n__global__ void k(int* data, int n) {\n    data[0] = area(2.0f);\n}\n";
    refused(text, "`area` is declared, and nothing in this cell defines it", "area", help);
    let text = "\nnamespace geo { __device__ float area(float r); }\n__global__ void k(int* data, int n) { data[0] = geo::area(2); }\n";
    refused(text, "`area` is declared, and nothing in this cell defines it", "area", help);
}

#[test]
fn kernels_of_c_linkage_are_kernels() {
    right("extern \"C\"", "    data[0] = n;", (1, 1, 7), &[7, 1]);
    right(
        "extern \"C\" { __device__ int twice(int x) { return 2 * x; } }",
        "    data[0] = twice(n);",
        (1, 1, 7),
        &[14, 1],
    );
}

#[test]
fn what_lanes_that_take_no_part_give_is_used_by_nobody() {
    // The upper half of a sum reads beyond the mask, and nobody reads the upper half.
    let sum = "    if (threadIdx.x < 8) {\n        int v = data[threadIdx.x];\n        for (int o = 4; o > 0; o /= 2) v += __shfl_down_sync(0xff, v, o);\n        \
               if (threadIdx.x == 0) { data[0] = v; printf(\"%d\\n\", v); }\n    }";
    assert_eq!(right("", sum, (1, 32, 0), &[28, 1, 2]), "28\n");
    // Threads that have left are not waited for, and votes are of the others.
    let left = "    if (threadIdx.x >= n) return;\n    unsigned odd = __ballot_sync(0xffffffff, threadIdx.x % 2);\n    __syncwarp();\n    \
                data[threadIdx.x] = odd;";
    right("", left, (1, 32, 4), &[10, 10, 10, 10, 4]);
    let used = |body: &str, threads, message: &str, underlined: &str| {
        check("", body, (1, threads, 0), message, &[(underlined, "")], "let all of them take part");
    };
    let short = "    int v = threadIdx.x;\n    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);\n    \
                 if (threadIdx.x == 0) data[0] = v;";
    let call = "__shfl_down_sync(0xffffffff, v, o)";
    used(
        short,
        20,
        "thread (4,0,0) of block (0,0,0) reads lane 20 of its warp, which its block of 20 threads does not have",
        call,
    );
    let highest = "    if (threadIdx.x < 20) {\n        float v = threadIdx.x;\n        for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_down_sync(0xfffff, v, o));\n        \
                   if (threadIdx.x == 0) printf(\"%f\\n\", v);\n    }";
    used(highest, 32, "which is not in the mask 0x000fffff", "__shfl_down_sync(0xfffff, v, o)");
    let active = "    if (threadIdx.x < 20) data[threadIdx.x] = __shfl_xor_sync(__activemask(), 5, 1);";
    let place = [("__shfl_xor_sync(__activemask(), 5, 1)", "")];
    check(
        "",
        active,
        (1, 32, 0),
        "that value is undefined, and what the kernel does depends on it",
        &place,
        "`__activemask()` says",
    );
    let width = "    data[threadIdx.x] = __shfl_down_sync(0xffffffff, 1, 1, 20);";
    check(
        "",
        width,
        (1, 32, 0),
        "with width 20",
        &[("__shfl_down_sync(0xffffffff, 1, 1, 20)", "")],
        "2, 4, 8, 16 or 32",
    );
}

#[test]
fn variables_of_a_module_end_where_they_end() {
    let sum = "__device__ int table[10]; __device__ int sum(const int* p, int n) { int s = 0; for (int i = 0; i <= n; i++)\n s += p[i];\n return s; }";
    let line = [("s += p[i];", "reads `table[10]` here")];
    check(
        sum,
        "    data[0] = sum(table, n);",
        (1, 1, 10),
        "reads `table[10]`, and `table` has 10 elements",
        &line,
        "`table[9]`",
    );
    let weights = "    const float* w = weights;\n    float s = 0;\n    for (int i = 0; i <= n; i++)\n        s += *w++;\n    data[0] = s;";
    let line = [("s += *w++;", "reads `weights[5]` here")];
    check(
        "__constant__ float weights[5] = {1, 2, 3, 4, 5};",
        weights,
        (1, 1, 5),
        "and `weights` has 5 elements",
        &line,
        "`weights[4]`",
    );
    let before = "    int* p = a;\n    p[n - 1] = 3;";
    check(
        "__device__ int a[4];",
        before,
        (1, 1, 0),
        "writes `a[-1]`",
        &[("p[n - 1] = 3;", "writes `a[-1]` here")],
        "the first index is 0",
    );
    let constant = "    c[threadIdx.x] = 1;";
    let place = [("c[threadIdx.x]", "written here")];
    check(
        "__constant__ float c[4];",
        constant,
        (1, 4, 0),
        "writes `c[0]`, and `c` is `__constant__`",
        &place,
        "`__device__`",
    );
    let all = "__device__ int a[4], scalar; __device__ double d[3]; __constant__ int c[2] = {5, 6}; __constant__ const float pi = 3.5f;\
               __device__ const char* names[2] = {\"ab\", \"cd\"}; struct P { float x; int id; }; __device__ P points[2]; __managed__ int m;";
    let body = "    static __device__ int calls;\n    for (int i = 0; i < 4; i++) a[i] = i;\n    d[2] = 0.5; points[1].id = 4; m = 1; scalar = ++calls;\n    \
                data[0] = a[3] + c[1] + (int)pi + points[1].id + names[1][1] + m + scalar;";
    right(all, body, (1, 1, 0), &[3 + 6 + 3 + 4 + 100 + 1 + 1]);
}

#[test]
fn stacks_heaps_and_formats_have_their_faults() {
    let deep = "__device__ int down(int n) { int pad[16]; pad[n & 15] = n; return down(n - 1) + pad[(n + 3) & 15]; }";
    check(deep, "    data[0] = down(n);", (1, 1, 0), "needs more than 112 KiB of stack", &[(deep, "")], "calls itself");
    let wide = "    int big[100000];\n    for (int i = 0; i < 100000; i++) big[i] = i;\n    data[0] = big[n];";
    check(
        "",
        wide,
        (1, 2, 0),
        "needs more than 112 KiB of stack",
        &[("__global__ void k(int* data, int n) {", "")],
        "each thread's own",
    );
    let copy = "    __shared__ int s[16];\n    memcpy(s, data, 128);\n    data[0] = s[3];";
    let line = [("memcpy(s, data, 128);", "writes `s[64]` here")];
    check("", copy, (1, 1, 0), "writes byte 64 of `s`, which has 64", &line, "larger");
    let null = "    int* p = nullptr;\n    if (n == 0) p[3] = 1;";
    check(
        "",
        null,
        (1, 1, 0),
        "writes 4 bytes through a null pointer",
        &[("if (n == 0) p[3] = 1;", "")],
        "a pointer gets its address",
    );
    let twice = "    int* p = new int[2];\n    delete[] p;\n    delete[] p;";
    check("", twice, (1, 1, 0), "was freed before", &[("delete[] p;", "")], "once");
    let past = "    int* p = (int*)malloc(16);\n    p[4] = 1;\n    free(p);";
    check(
        "",
        past,
        (1, 1, 0),
        "writes `memory[4]`, and `memory` has 4 elements",
        &[("p[4] = 1;", "writes `memory[4]` here")],
        "larger",
    );
    let own = "    int mine = threadIdx.x;\n    if (threadIdx.x == 0) where = &mine;\n    __syncthreads();\n    data[threadIdx.x] = *where;";
    let line = [("data[threadIdx.x] = *where;", "")];
    check(
        "__device__ int* where;",
        own,
        (1, 2, 0),
        "of a variable that is thread (0,0,0) of block (0,0,0)'s own",
        &line,
        "each thread's own",
    );
    let back = "__device__ int f(int x) { if (x > 10) return 1; }";
    check(back, "    data[0] = f(n);", (1, 1, 0), "without a `return`", &[(back, "")], "each way");
    for (call, said) in [
        (
            "printf(\"%f\\n\", data[0]);",
            "`%f` in the format of printf prints a float, and is given a number of 32 bits",
        ),
        ("printf(\"%s\\n\", data[0]);", "`%s` in the format of printf prints a text, and is given a number of 32 bits"),
        ("printf(\"%d\\n\", 0.5f);", "`%d` in the format of printf prints a number of 32 bits, and is given a float"),
        (
            "printf(\"%d %d\\n\", data[0], sizeof(int));",
            "`%d` in the format of printf prints a number of 32 bits, and is given a number of 64 bits",
        ),
        ("printf(\"%d %d\\n\", data[0]);", "the format of printf wants 2 values, and is given 1"),
        ("printf(\"%lld\\n\", data[0]);", "`%lld` in the format of printf prints a number of 64 bits"),
    ] {
        check("", &format!("    {call}"), (1, 1, 0), said, &[(call, "")], "`%f` a `float` or a `double`");
    }
    let heap = "    Node* head = nullptr;\n    for (int i = 0; i < 5; i++) head = new Node{i * n, head};\n    int sum = 0;\n    \
                while (head) { sum += head->value; Node* next = head->next; delete head; head = next; }\n    data[0] = sum;";
    right("struct Node { int value; Node* next; };", heap, (1, 1, 3), &[30]);
    let formats = "    size_t big = 5000000000ull; float half = 0.5f;\n    \
                   printf(\"%d %5.2f %lu %c %s|%-4d|%04x %% %u %lld %d\\n\", data[3], half, big, 'x', n > 3 ? \"yes\" : \"no\", 7, 255u, threadIdx.x, -1LL, sizeof(int));";
    assert_eq!(right("", formats, (1, 1, 4), &[0]), "3  0.50 5000000000 x yes|7   |00ff % 0 -1 4\n");
}

#[test]
fn texts_that_cuda_does_not_take() {
    // The words are those of g++.
    if std::env::var("CXX").is_ok_and(|compiler| compiler.contains("clang")) {
        return;
    }
    let refused = |body: &str, message: &str, underlined: &str, help: &str| {
        let text = format!("\n__global__ void k(int* data, int n) {{\n    {body}\n}}\n");
        refused(&text, message, underlined, help);
    };
    refused("int s[n]; s[0] = 1; data[0] = s[0];", "the length of `s` is not known", "s", "`float tile[64]`");
    refused("__shared__ int s[n]; s[0] = 1;", "the length of `s` is not known", "s", "extern __shared__");
    refused(
        "int sum; for (int i = 0; i < n; i++) sum += data[i]; data[0] = sum;",
        "`sum` is used before it has a value",
        "sum",
        "int sum = 0;",
    );
    refused("if (threadIdx.x = 0) data[0] = 1;", "can only be read", "=", "`==` compares");
    refused("atomicMax((double*)data, 3.0);", "no matching function", "atomicMax", "atomics take the address");
    refused("atomicAdd(data[0], 1);", "from `int` to `int*`", "]", "`&data[i]`");
    refused("std::vector<int> v(4);", "is not a member of `std`", "vector", "not there on a GPU");
    refused("data[0] += __shfl_down(data[0], 1);", "`__shfl_down`", "__shfl_down", "end in `_sync`");
    refused("if (n > 3) throw 1;", "no exceptions", "1", "check before");
    let text = "\n__global__ void k(int* data, int n) {\n    printf(\"%f\\n\", make_float3(1, 2, 3));\n}\n";
    let mut worker = Worker::start();
    if worker.emulated {
        let diagnostic = worker.load(text, "k", PARAMETERS).unwrap_err();
        assert!(diagnostic.message.contains("printf prints numbers"), "{diagnostic}");
        assert_eq!(diagnostic.labels[0].span.line, 3);
    }
    // A variable that only seems to have no value has one.
    let guarded = "    int best;\n    bool any = false;\n    for (int i = 0; i < n; i++)\n        \
                   if (data[i] % 7 == 3) { if (!any || data[i] > best) best = data[i]; any = true; }\n    if (any) data[0] = best;";
    right("", guarded, (1, 1, 64), &[59]);
}

#[test]
fn what_is_undefined_names_its_place() {
    let array = "    int loc[4] = {1, 2, 3, 4};\n    data[0] = loc[n];";
    check(
        "",
        array,
        (1, 1, 4),
        "uses `loc[4]`, and `loc` has 4 elements",
        &[("loc[n]", "uses `loc[4]` here")],
        "`loc[3]`",
    );
    let row = "    __shared__ int s[4][4];\n    s[threadIdx.y][threadIdx.x + 1] = 1;";
    let place = [("s[threadIdx.y][threadIdx.x + 1]", "uses `s[threadIdx.y][4]` here")];
    check("", row, (1, 4, 0), "and `s[threadIdx.y]` has 4 elements", &place, "`s[threadIdx.y][3]`");
    let zero = "    data[0] = 5 / n;";
    check(
        "",
        zero,
        (1, 1, 0),
        "thread (0,0,0) of block (0,0,0) divides an integer by zero",
        &[("/", "the divisor is 0 here")],
        "`if`",
    );
    let shift = "    data[0] = 1 << n;";
    check("", shift, (1, 1, 40), "shifts a number of 32 bits by 40", &[("<<", "by 40 here")], "`1ull << n`");
    let wide = "    int4* v = (int4*)(data + n);\n    data[9] = v->x;";
    let used = [("data[9] = v->x;", "used here")];
    check(
        "",
        wide,
        (1, 1, 1),
        "an `int4` at byte 4 of `data`, which is not a multiple of 16",
        &used,
        "`data[0]`, `data[4]`, `data[8]`",
    );
}

#[test]
fn indices_that_are_wrong_are_named() {
    let mean = "    int i = threadIdx.x;\n    int sum = data[i - 1] + data[i + 1] + data[i];\n    data[i] = sum;";
    let place = [("data[i - 1]", "reads `data[-1]` here")];
    check("", mean, (1, 1, 0), "reads `data[-1]`, and `data` has 64 elements", &place, "the first index is 0");
    let below = "    unsigned i = threadIdx.x;\n    data[i - 1] = 1;";
    let place = [("data[i - 1]", "writes `data[4294967295]` here")];
    check("", below, (1, 1, 0), "writes `data[4294967295]`, which is far out of `data`", &place, "never negative");
    let over = "    int far = (n + 60000) * 60000;\n    data[0] = data[far];";
    let place = [("data[far]", "reads `data[-694967296]` here")];
    check("", over, (1, 1, 0), "reads `data[-694967296]`", &place, "`long long`");
}

#[test]
fn an_endless_kernel_ends_with_its_cell() {
    let mut worker = Worker::start();
    let text =
        "\n__global__ void forever(int* data, int n) {\n    volatile int* p = data;\n    while (true) p[0] = n;\n}\n";
    worker.load(text, "forever", PARAMETERS).unwrap();
    worker.write(1, &[0]);
    fd_passing::send(&worker.socket, &Worker::message("forever", 1, 1, 0, 1), &[]).unwrap();
    let begun = Instant::now();
    worker.socket.shutdown(std::net::Shutdown::Both).unwrap();
    worker.child.wait().unwrap();
    println!("ended in {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(20), "it takes milliseconds; the rest is room for a busy machine");
}

#[test]
fn endless_printing_takes_no_memory() {
    let mut worker = Worker::start();
    // 100 bytes a line, and of 20 MB a part is kept.
    let text =
        "\n__global__ void flood(int* data, int n) {\n    for (int i = 0; i != n; i++) printf(\"%099d\\n\", i);\n}\n";
    worker.load(text, "flood", PARAMETERS).unwrap();
    worker.write(1, &[0]);
    let launched = worker.launch(&Worker::message("flood", 1, 1, 0, 200_000)).unwrap();
    let printed = launched.printed;
    assert!(printed.text.starts_with(&format!("{:099}\n{:099}\n", 0, 1)), "{}", printed.text.len());
    if worker.emulated {
        assert_eq!(printed.text.len() as u64 + printed.left_out, 20_000_000);
    }
    // Nothing of it is there the next time.
    let printed = worker.launch(&Worker::message("flood", 1, 1, 0, 2)).unwrap().printed;
    assert_eq!((printed.text.len(), printed.left_out), (200, 0));
    if worker.emulated {
        fd_passing::send(&worker.socket, &Worker::message("flood", 1, 1, 0, -1), &[]).unwrap();
        let kept = || {
            let links =
                std::fs::read_dir(format!("/proc/{}/fd", worker.child.id())).unwrap().map(|fd| fd.unwrap().path());
            let memory = links
                .filter(|fd| std::fs::read_link(fd).is_ok_and(|to| to.ends_with("memfd:onrush-printed (deleted)")));
            memory.map(|fd| std::fs::metadata(fd).unwrap().len()).max().unwrap()
        };
        let begun = Instant::now();
        while kept() < 4 << 20 {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "it takes milliseconds; the rest is room for a busy machine"
            );
            std::thread::yield_now();
        }
        // As much again would come meanwhile.
        let took = begun.elapsed();
        while begun.elapsed() < 2 * took {
            assert_eq!(kept(), 4 << 20);
        }
    }
}

const GROW: &str = "\n__global__ void grow(int* data, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                    data[i] += n;\n}\n";
const FAR: &str = "\n__global__ void far(int* data, int n) {\n    data[threadIdx.x] = -1;\n    __syncthreads();\n    \
                   data[(long long)n * 1000000000] = 1;\n}\n";
/// More than what stays on the device.
const MANY: usize = 1 << 19;

#[test]
fn what_a_kernel_wrote_outlives_its_worker() {
    assert!(4 * MANY as u64 >= LENT);
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    let first: Vec<i32> = (0..MANY as i32).collect();
    worker.write(1, &first);
    let message = Worker::message("grow", MANY as u32 / 256, 256, 0, 5);
    let (launched, once) = worker.launch_lending(&message).unwrap();
    assert_eq!((launched.lent.as_slice(), once.len()), ([1].as_slice(), 1));
    let (launched, twice) = worker.launch_lending(&message).unwrap();
    assert_eq!((launched.lent.as_slice(), twice.len()), ([1].as_slice(), 1));
    let grown = |by: i32| first.iter().map(|value| value + by).collect::<Vec<i32>>();
    assert!(worker.read(1, MANY) == grown(10));
    // A kernel that fails has written into something else.
    worker.load(FAR, "far", PARAMETERS).unwrap();
    worker.launch(&Worker::message("far", 1, 64, 0, 1000)).unwrap_err();
    if worker.emulated {
        assert!(worker.read(1, MANY) == grown(10));
    }
    drop(worker);
    // Each descriptor is the buffer as it was when it was given.
    let mut next = Worker::start();
    next.import(1, MANY, &once[0]);
    assert!(next.read(1, MANY) == grown(5));
    next.import(1, MANY, &twice[0]);
    assert!(next.read(1, MANY) == grown(10));
    next.load(GROW, "grow", PARAMETERS).unwrap();
    next.launch(&message).unwrap();
    assert!(next.read(1, MANY) == grown(15));
    next.import(1, MANY, &twice[0]);
    assert!(next.read(1, MANY) == grown(10));
    // Other contents are not written to the exported buffer.
    next.write(1, &first);
    assert!(next.read(1, MANY) == first);
    next.import(2, MANY, &twice[0]);
    assert!(next.read(2, MANY) == grown(10));
}

#[test]
fn what_is_lent_cannot_be_written_by_accident() {
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    worker.write(1, &vec![0; MANY]);
    let (_, lent) = worker.launch_lending(&Worker::message("grow", MANY as u32 / 256, 256, 0, 1)).unwrap();
    // Another buffer's address is what a wild pointer may be.
    let text = "\n__global__ void cast(int* data, int n) {\n    data[0] = n;\n}\n";
    worker.load(text, "cast", PARAMETERS).unwrap();
    let ToWorker::Launch(mut launch) = Worker::message("cast", 1, 1, 0, 7) else { panic!() };
    launch.arguments[0].value = ArgumentValue::Buffer { buffer: 1, element: 4, written: false };
    fd_passing::send(&worker.socket, &ToWorker::Launch(launch), &[]).unwrap();
    match fd_passing::receive::<FromWorker>(&worker.socket) {
        Ok((FromWorker::Failed { diagnostic, lost, .. }, _)) => println!("lost: {lost}: {diagnostic}"),
        Ok(other) => panic!("{other:?}"),
        Err(error) => println!("the worker ended: {error}"),
    }
    let mut next = Worker::start();
    next.import(1, MANY, &lent[0]);
    assert!(next.read(1, MANY) == vec![1; MANY]);
}

/// Repeated launches on one buffer, small or exported. Prints the time of a launch without its kernel, and the time of
/// the download. The times are meaningful on a GPU only.
#[test]
fn many_launches_on_one_buffer() {
    let mut worker = Worker::start();
    worker.load(GROW, "grow", PARAMETERS).unwrap();
    let (sizes, launches) = if worker.emulated {
        (&[1usize << 10, 1 << 18][..], 3)
    } else {
        (&[1 << 10, 1 << 18, 1 << 20, 1 << 24][..], 21)
    };
    for count in sizes.iter().copied() {
        worker.write(1, &vec![0; count]);
        let message = Worker::message("grow", count as u32 / 256, 256, 0, 1);
        let mut rounds: Vec<(f64, f64)> = (0..launches)
            .map(|_| {
                let begun = Instant::now();
                let launched = worker.launch(&message).unwrap();
                (begun.elapsed().as_secs_f64() * 1e3, launched.nanoseconds as f64 / 1e6)
            })
            .collect();
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let begun = Instant::now();
        assert!(worker.read(1, count) == vec![launches; count]);
        let (read, (call, kernel)) = (begun.elapsed().as_secs_f64() * 1e3, rounds[rounds.len() / 2]);
        println!("{:7.1} MB: launch {call:.3} ms, kernel {kernel:.3}; read {read:.1}", count as f64 * 4e-6);
    }
}
