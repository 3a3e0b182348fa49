//! More kernels of people who learn: each expectation is what CUDA's programming guide says of the code.

use super::support::{PARAMETERS, Worker, check, refused, right, said};

#[test]
fn dynamic_shared_memory_outside_of_all_functions() {
    let reverse = |name: &str| {
        format!(
            "    {name}[threadIdx.x] = data[threadIdx.x];\n    __syncthreads();\n    data[threadIdx.x] = {name}[n - 1 - threadIdx.x];"
        )
    };
    let launched = |before: &str, body: &str, shared: u32| {
        let mut worker = Worker::start();
        let text = format!("{before}\n__global__ void k(int* data, int n) {{\n{body}\n}}\n");
        worker.load(&text, "k", PARAMETERS).unwrap();
        worker.write(1, &[1, 2, 3, 4]);
        worker.launch(&Worker::message("k", 1, 4, shared, 4)).unwrap();
        worker.read(1, 4)
    };
    // A name that others have, too: parameters, variables, members.
    let last = "__device__ int last(int* s, int n) { return s[n - 1]; }";
    let half = "__device__ float half_of(float x) { float s = x / 2; return s; }";
    let pair = "struct Pair { int s; };\n__device__ int both(Pair p) { p.s += s[0] - s[0]; return p.s; }";
    for other in ["", last, half, pair] {
        let before = format!("extern __shared__ int s[];\n{other}");
        assert_eq!(launched(&before, &reverse("s"), 16), [4, 3, 2, 1], "{before}");
    }
    // One that the emulation's own code has; two of them; and their words in other orders.
    assert_eq!(launched("extern __shared__ int a[];", &reverse("a"), 16), [4, 3, 2, 1]);
    let two = "extern __shared__ int s[]; extern __shared__ char bytes[];";
    assert_eq!(launched(two, &format!("    bytes[16 + threadIdx.x] = 1;\n{}", reverse("s")), 32), [4, 3, 2, 1]);
    for words in ["extern volatile __shared__", "__shared__ extern", "extern __shared__ __align__(16)"] {
        assert_eq!(launched(&format!("{words} int s[];"), &reverse("s"), 16), [4, 3, 2, 1]);
        assert_eq!(launched("", &format!("    {words} int s[];\n{}", reverse("s")), 16), [4, 3, 2, 1]);
    }
}

#[test]
fn bytes_of_the_launch_are_no_elements() {
    let mut worker = Worker::start();
    if !worker.emulated {
        return;
    }
    let text = "\n__global__ void k(int* data, int n) {\n    extern __shared__ int s[];\n    s[threadIdx.x] = n;\n}\n";
    worker.load(text, "k", PARAMETERS).unwrap();
    worker.write(1, &[0; 4]);
    let diagnostic = worker.launch(&Worker::message("k", 1, 4, 4, 4)).unwrap_err();
    assert!(diagnostic.message.contains("thread (1,0,0) of block (0,0,0) writes `s[1]`"), "{diagnostic}");
    assert!(diagnostic.help[0].contains("the launch gives 4 bytes"), "{diagnostic}");
}

#[test]
fn shared_memory_of_types_with_constructors() {
    // CUDA allows them there if they do nothing.
    let body = "    __shared__ C s[4];\n    s[threadIdx.x] = C(data[threadIdx.x], 1) * C(2, 0);\n    __syncthreads();\n    \
                data[threadIdx.x] = s[3 - threadIdx.x].r;";
    for none in ["C() {}", "C() = default;"] {
        let class = format!(
            "struct C {{ int r, i; {none} __device__ C(int r, int i) : r(r), i(i) {{}} \
             __device__ C operator*(C o) const {{ return C(r * o.r - i * o.i, r * o.i + i * o.r); }} }};"
        );
        right(&class, body, (1, 4, 0), &[6, 4, 2, 0]);
        // They have set nothing.
        let unset = "    __shared__ C s[4];\n    data[0] = s[1].r;";
        let place = [("s[1]", "read here")];
        check(
            &class,
            unset,
            (1, 1, 0),
            "no thread of its block has written it",
            &place,
            "begins with whatever was there",
        );
    }
}

#[test]
fn barriers_are_those_of_the_text() {
    let help = "behind the `if`";
    let one = "    if (threadIdx.x < 32) __syncthreads(); else __syncthreads();";
    let line = one.trim();
    let both = [(line, "thread (0,0,0) waits here"), (line, "thread (32,0,0) waits here")];
    check("", one, (1, 64, 0), "wait at different barriers", &both, help);
    let count = "    int c;\n    if (threadIdx.x < 32) c = __syncthreads_count(1);\n    else c = __syncthreads_count(0);\n    data[threadIdx.x] = c;";
    let both = [
        ("if (threadIdx.x < 32) c = __syncthreads_count(1);", "thread (0,0,0) waits here"),
        ("else c = __syncthreads_count(0);", "thread (32,0,0) waits here"),
    ];
    check("", count, (1, 64, 0), "wait at different barriers", &both, help);
    // One in a loop, a function, a template, a lambda and a macro is one.
    let same = "    __shared__ int s[32];\n    auto put = [&](int v) { s[threadIdx.x] = v; __syncthreads(); };\n    for (int r = 0; r < n; r++) {\n        \
                put(data[threadIdx.x]);\n        int v = next(s, 31); SYNC\n        data[threadIdx.x] = v; SYNC SYNC\n        \
                if (__syncthreads_and(v < 0)) break;\n    }";
    let before = "#define SYNC __syncthreads();\ntemplate <class T> __device__ T next(T* s, int last) { __syncthreads(); return s[threadIdx.x < last ? threadIdx.x + 1 : 0]; }";
    right(before, same, (1, 32, 3), &[3, 4, 5]);
}

#[test]
fn sums_in_place_are_races() {
    // Thread 0 adds what is in the sum by then.
    for of in ["float", "int", "double"] {
        let body = format!("    {of}* d = ({of}*)data;\n    atomicAdd(&d[0], d[threadIdx.x]);");
        let Some((diagnostic, _)) = said("", &body, 1, 32, 0) else { return };
        assert!(diagnostic.message.contains("a race") && diagnostic.message.contains("`data[0]`"), "{diagnostic}");
    }
    right("", "    atomicMax(&data[0], data[threadIdx.x + 1]);", (1, 32, 0), &[32, 1]);
}

#[test]
fn names_that_people_expect() {
    let body = "    uint a = 3; ushort b = a; ulong c = b; ptrdiff_t d = c; intptr_t e = d;\n    if (data != NULL) data[0] = e;\n    int exponent; float whole;\n    \
                data[1] = __float2int_rn(2.5f) + __float2int_rd(-0.5f); data[2] = __float2uint_rz(-3.0f) + __double2int_ru(1.2);\n    \
                data[3] = __float2int_rz(3e9f); data[4] = frexpf(6.0f, &exponent) * 100; data[5] = exponent;\n    \
                data[6] = 100 * modff(-2.25f, &whole); data[7] = whole; data[8] = ldexpf(3, 2) + lroundf(0.5f) + fdividef(6, 2);\n    \
                data[9] = __mul24(-3, 5) + __umul24(0x01000002u, 3) + __sad(3, 5, 1) + __hadd(3, 4) + __rhadd(3, 4) + __dp4a(0x0102ff03, 0x01010101, 1);";
    let dp4a = 1 + 2 - 1 + 3 + 1;
    right("", body, (1, 1, 0), &[3, 1, 2, i32::MAX, 75, 3, -25, -2, 16, -15 + 6 + 3 + 3 + 4 + dp4a]);
}

#[test]
fn what_gives_back_its_own_is_refused() {
    if std::env::var("CXX").is_ok_and(|compiler| compiler.contains("clang")) {
        return;
    }
    let kernel = "\n__global__ void k(int* data, int n) { data[0] = *own(n); }\n";
    let text = format!("\n__device__ __noinline__ int* own(int v) {{ int x[2] = {{v, v}}; return &x[0]; }}{kernel}");
    refused(&text, "the address of a variable that ends with it", "&", "give the value back");
}

#[test]
fn statements_that_nobody_means_are_refused() {
    if std::env::var("CXX").is_ok_and(|compiler| compiler.contains("clang")) {
        return;
    }
    let kernel = |body: &str| format!("\n__global__ void k(int* data, int n) {{\n    {body}\n}}\n");
    refused(&kernel("if (0 <= n < 3) data[0] = 1;"), "two numbers at a time", "<", "`0 <= i && i < n`");
    refused(&kernel("if (n & 1 == 0) data[0] = 1;"), "this compares first", "=", "`(n & 1) == 0`");
    refused(&kernel("data[0] == n;"), "this statement does nothing", "=", "`=` sets");
    refused(&kernel("if (!n == 3) data[0] = 1;"), "on the left of the comparison alone", "=", "`a != b`");
    let size = "for (int i = 0; i < sizeof(data) / sizeof(data[0]); i++) data[i] = n;";
    refused(&kernel(size), "`sizeof` of a pointer is 8 bytes", "/", "`int n`");
    let row = "__device__ int sum(int row[8]) { int s = 0; for (int i = 0; i < sizeof(row) / sizeof(int); i++) s += row[i]; return s; }";
    refused(&(kernel("data[0] = n;") + row), "`sizeof` of a pointer is 8 bytes", "row", "`int n`");
    // Right ones that look like them.
    let body = "    int i = 1; int* p = data; int own[3] = {1, 2, 3};\n    for (i; i < 3; i++) *p++;\n    (void)n;\n    \
                if (n > 1 && n < 9 || n == 20) p[0] = sizeof(own) / sizeof(own[0]) + (n & 1) + (!n == false);\n    bool no = !n; if (no == (n == 0)) p[1] = i;";
    right("", body, (1, 1, 5), &[0, 1, 5, 3]);
}

#[test]
fn advice_is_about_what_is_wrong() {
    if std::env::var("CXX").is_ok_and(|compiler| compiler.contains("clang")) {
        return;
    }
    let kernel = |body: &str| format!("\n__global__ void k(int* data, int n) {{\n    {body}\n}}\n");
    for (body, message, underlined, help) in [
        ("float x = 3; data[0] = x % 2;", "operator%", "%", "`fmodf(x, y)`"),
        ("float x = 3; data[0] = x ^ 2;", "operator^", "^", "`powf(x, y)`"),
        ("data[0] = n ** 2;", "unary `*`", "*", "no `**`"),
        ("printf(\"n is \" + \"3\");", "operator+", "+", "strings have no `+`"),
        ("float4 v = float4(1, 2, 3, 4); data[0] = v.x;", "float4::float4", ")", "`make_float4"),
        ("float4 v = {1, 2}; data[0] = v[0];", "operator[]", "[", "`v.x`"),
        ("const int a = 1; a = n; data[0] = a;", "read-only variable `a`", "=", "leave `const` out to set it later"),
        (
            "data[0] = __shfl_down_sync(n, 1);",
            "no matching function",
            "__shfl_down_sync",
            "the first argument says which lanes",
        ),
        ("bool a = True; data[0] = a;", "`True` was not declared", "True", "C++ writes `true`"),
        ("if (n) data[0] = 1; elif (n > 2) data[0] = 2;", "`elif` was not declared", "elif", "`else if`"),
        ("__constant__ int c = 3; data[0] = c;", "outside of all functions", "c", "before the kernel"),
        (
            "int l; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); data[0] = l;",
            "inline PTX",
            "int l; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); data[0] = l;",
            "`threadIdx.x % 32`",
        ),
    ] {
        refused(&kernel(body), message, underlined, help);
    }
    let later = kernel("data[0] = square(n);") + "__device__ int square(int x) { return x * x; }\n";
    refused(&later, "`square` was not declared", "square", "comes further down");
}

#[test]
fn memory_that_was_freed_is_nobodys() {
    let body = "    __shared__ int* p;\n    if (threadIdx.x == 0) p = new int[32]();\n    __syncthreads();\n    if (threadIdx.x == 0) delete[] p;\n    \
                data[threadIdx.x] = p[threadIdx.x];";
    let line = [("data[threadIdx.x] = p[threadIdx.x];", "")];
    check("", body, (1, 32, 0), "that was freed", &line, "the last one that uses it gives it back");
}
