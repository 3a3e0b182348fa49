//! Wrong kernels of people who learn, and right ones that look like them.

use onrush_wire::worker::{FromWorker, Source, ToWorker};

use super::support::{PARAMETERS, Worker, check, refused, right, said};

#[test]
fn volatile_orders_nothing() {
    let sum = "    __shared__ volatile int s[64];\n    int t = threadIdx.x;\n    s[t] = data[t];\n    __syncthreads();\n    if (t < 32) {\n        \
               s[t] += s[t + 32];\n        s[t] += s[t + 16];\n        s[t] += s[t + 8];\n        s[t] += s[t + 4];\n        s[t] += s[t + 2];\n        \
               s[t] += s[t + 1];\n    }\n    if (t == 0) data[0] = s[0];";
    let places = [("s[t]", "written here by thread (5,0,0)"), ("s[t + 2]", "read here by thread (3,0,0)")];
    let help = "`volatile` makes no thread wait";
    check("", sum, (1, 64, 0), "a race", &places, help);
    // In step, and with flags that are waited for.
    let steps = "    __shared__ volatile int s[64];\n    int t = threadIdx.x;\n    s[t] = data[t];\n    __syncthreads();\n    if (t < 32) {\n        \
                 for (int k = 32; k > 0; k /= 2) {\n            int other = s[t] + s[t + k];\n            __syncwarp();\n            \
                 s[t] = other;\n            __syncwarp();\n        }\n    }\n    if (t == 0) data[0] = s[0];";
    right("", steps, (1, 64, 0), &[2016]);
    let flags = "    __shared__ volatile int ready[32];\n    __shared__ int value[32];\n    int t = threadIdx.x;\n    ready[t] = 0;\n    __syncthreads();\n    \
                 value[t] = data[t];\n    __threadfence_block();\n    ready[t] = 1;\n    while (ready[31 - t] == 0) {}\n    __threadfence_block();\n    \
                 data[t] = value[31 - t];";
    right("", flags, (1, 32, 0), &[31, 30, 29]);
    let found = "    __shared__ volatile bool found;\n    if (threadIdx.x == 0) found = false;\n    __syncthreads();\n    \
                 for (int i = threadIdx.x; i < n && !found; i += 32)\n        if (data[i] == 40) found = true;\n    __syncthreads();\n    \
                 if (threadIdx.x == 0) data[0] = found;";
    right("", found, (1, 32, 64), &[1, 1, 2]);
}

#[test]
fn arrays_of_a_thread_end_where_they_end() {
    let fill = "__device__ __noinline__ void fill(int* p, int n) {\n for (int i = 0; i < n; i++)\n p[i] = i; }";
    let body = "    int own[4];\n    fill(own, n);\n    data[0] = own[3];";
    check(fill, body, (1, 32, 4000), "of its own", &[("p[i] = i; }", "")], "how many elements");
    // The guards of a function's variables are checked when it ends.
    let end = [("}", "")];
    check(
        fill,
        body,
        (1, 1, 8),
        "has written past an array of its own, in the function that ends",
        &end,
        "how many elements",
    );
    let known = "    int own[4] = {1, 2, 3, 4};\n    int* p = own;\n    data[0] = *(p + n);";
    check("", known, (1, 1, 6), "what is beside an array", &[("data[0] = *(p + n);", "")], "how many elements");
    let largest = "__device__ __noinline__ int largest(const int* p, int n) { int m = p[0]; for (int i = 1; i < n; i++) m = max(m, p[i]); return m; }";
    let body = "    int own[32];\n    for (int i = 0; i < 32; i++) own[i] = data[(i * 7) % 64];\n    data[0] = largest(own, 32);";
    right(largest, body, (1, 1, 0), &[63, 1]);
}

#[test]
fn variables_are_apart() {
    let walk = "    __shared__ int a[8], b[8];\n    a[threadIdx.x] = b[threadIdx.x] = 1;\n    __syncthreads();\n    int* p = a;\n    int sum = 0;\n    \
                for (int i = 0; i < n; i++)\n        sum += *p++;\n    data[threadIdx.x] = sum + b[0];";
    let place = [("sum += *p++;", "reads `a[8]` here")];
    check("", walk, (1, 8, 9), "reads `a[8]`, and `a` has 8 elements", &place, "`a[7]`");
    right("", walk, (1, 8, 8), &[9, 9]);
    let module = "__device__ int a[4]; __device__ int b[4];";
    let walk = "    int* p = a;\n    p[n] = 1;\n    data[0] = b[0];";
    check(module, walk, (1, 1, 4), "writes `a[4]`", &[("p[n] = 1;", "writes `a[4]` here")], "`a[3]`");
    let constant = "__constant__ const int primes[4] = {2, 3, 5, 7}; __constant__ const int others[4] = {1, 4, 6, 8};";
    let walk = "    const int* p = primes;\n    data[0] = p[n] + others[0];";
    check(
        constant,
        walk,
        (1, 1, 4),
        "reads `primes[4]`",
        &[("data[0] = p[n] + others[0];", "reads `primes[4]` here")],
        "`primes[3]`",
    );
    right(constant, walk, (1, 1, 3), &[8]);
}

#[test]
fn each_kernel_has_shared_memory_of_its_own() {
    let kernel = |name: &str| {
        format!(
            "__global__ void {name}(int* data, int n) {{\n __shared__ int large[10000];\n large[threadIdx.x] = n;\n data[threadIdx.x] = large[threadIdx.x];\n}}\n"
        )
    };
    let source = Source {
        file: "cell_1.rs".into(),
        text: kernel("k") + &kernel("other"),
        declarations: format!(
            "extern \"C\" __global__ void k({PARAMETERS}); extern \"C\" __global__ void other({PARAMETERS});"
        ),
        kernels: vec!["k".into(), "other".into()],
    };
    let mut worker = Worker::start();
    assert_eq!(worker.ask(&ToWorker::Load { module: 1, source }), FromWorker::Done);
    worker.write(1, &[0; 4]);
    worker.launch(&Worker::message("k", 1, 4, 0, 3)).unwrap();
    assert_eq!(worker.read(1, 4), [3; 4]);
}

#[test]
fn memory_of_malloc_has_no_value_at_first() {
    let sum = "    int* own = new int[4];\n    own[0] += n;\n    data[0] = own[0];";
    check(
        "",
        sum,
        (1, 1, 1),
        "`memory[0]`, and nobody has written it",
        &[("own[0] += n;", "read here")],
        "`new int[n]()`",
    );
    right(
        "",
        "    int* own = new int[4]();\n    own[0] += n;\n    data[0] = own[0];\n    delete[] own;",
        (1, 1, 3),
        &[3],
    );
    // Copied with what lies between its members.
    let list = "    Item* items = (Item*)malloc(4 * sizeof(Item));\n    for (int i = 0; i < 4; i++) { items[i].key = i; items[i].weight = i; }\n    \
                Item first = items[0];\n    items[0] = items[3];\n    memcpy(&items[3], &first, sizeof(Item));\n    data[0] = items[0].key + items[3].weight;\n    free(items);";
    right("struct Item { char key; double weight; };", list, (1, 1, 0), &[3]);
}

#[test]
fn the_heap_is_as_it_was_in_a_trial() {
    // Lanes that take no part are read, and nobody uses what they give. A trial that found the heap fuller, or the list
    // longer, would differ.
    let body = "    if (threadIdx.x == 0) { head = new Node{head ? head->count + 1 : 1, head}; if (n) { Node* old = head->next; head->next = old->next; delete old; } }\n    \
                int v = data[threadIdx.x];\n    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);\n    \
                if (threadIdx.x == 0) { data[32] = head->count; printf(\"%p\\n\", (void*)head); }";
    let module = "struct Node { int count; Node* next; }; __device__ Node* head;";
    let mut worker = Worker::start();
    let text = format!("{module}\n__global__ void k(int* data, int n) {{\n{body}\n}}\n");
    worker.load(&text, "k", PARAMETERS).unwrap();
    worker.write(1, &[0; 33]);
    for round in 1..6 {
        let launched = worker.launch(&Worker::message("k", 1, 20, 0, i32::from(round > 2))).unwrap();
        assert_eq!(worker.read(1, 33)[32], round, "{}", launched.printed.text);
    }
}

#[test]
fn what_printf_pads_has_an_end() {
    let printed =
        right("", "    printf(\"%1000000000d|%.1000000000f|%*d\\n\", 1, 0.5, 2000000000, n);", (1, 1, 7), &[0]);
    // On a GPU the driver writes the line, and limits it in another way.
    if Worker::start().emulated {
        assert_eq!(printed.len(), 4096 + 1 + 2 + 4096 + 1 + 4096 + 1);
    } else {
        assert!(printed.len() < 1 << 20, "{}", printed.len());
    }
}

#[test]
fn variables_have_values_before_they_are_used() {
    let branch = "    int v;\n    if (threadIdx.x < 10) v = 3;\n    data[threadIdx.x] = v;";
    let declared = [("int v;", "")];
    check(
        "",
        branch,
        (1, 32, 0),
        "thread (10,0,0) of block (0,0,0) uses `v`, to which it has given no value",
        &declared,
        "`int sum = 0;`",
    );
    let largest = "    int best;\n    for (int i = 0; i < n; i++)\n        if (data[i] > best) best = data[i];\n    data[0] = best;";
    check("", largest, (1, 1, 64), "uses `best`", &[("int best;", "")], "`int sum = 0;`");
    let through = "__device__ void get(int i, int* r) { if (i < 4) *r = i; }";
    check(through, "    int v;\n    get(n, &v);\n    data[0] = v;", (1, 1, 4), "uses `v`", &declared, "`int sum = 0;`");
    right(through, "    int v;\n    get(n, &v);\n    data[0] = v;", (1, 1, 3), &[3, 1]);
    let count = "    int count[4]; int any = 0;\n    for (int i = 0; i < n; i++)\n        count[data[i] % 4]++;\n    data[0] = count[0] + any;";
    let line = [("count[data[i] % 4]++;", "")];
    check(
        "",
        count,
        (1, 1, 8),
        "reads a part of its own array to which it has given no value",
        &line,
        "`int count[8] = {};`",
    );
    // Set before they are used: in a loop, by a constructor, in another function; and what nobody uses.
    let set = "    int i, j, sum[3]; Pair pairs[2]; float s, c; int unused;\n    for (i = 0; i < 3; i++) sum[i] = i;\n    for (j = 0; j < 2; j++) pairs[j].x += j;\n    \
               sincosf(0.0f, &s, &c);\n    if (n < 0) unused = 1;\n    data[0] = sum[2] + pairs[1].x + pairs[0].y + (int)c;";
    right("struct Pair { int x = 1, y = 2; };", set, (1, 1, 0), &[7, 1]);
    // On a line with others, columns are those of the text.
    let other = "    int own[4]; int v; own[n] = 1; v = own[n]; data[0] = v;";
    check(
        "",
        other,
        (1, 1, 4),
        "uses `own[4]`, and `own` has 4 elements",
        &[("own[n]", "uses `own[4]` here")],
        "`own[3]`",
    );
}

#[test]
fn what_cpp_takes_and_nobody_means_is_refused() {
    let kernel = |body: &str| format!("\n__global__ void k(int* data, int n) {{\n{body}\n}}\n");
    refused(&kernel("    if (n = 3) data[0] = 1;"), "`=` in a condition sets the variable", "=", "`==` compares");
    refused(&kernel("    if (n < 3);\n        data[0] = 1;"), "the `;` behind the condition", ";", "leave it out");
    // The words are those of g++.
    if std::env::var("CXX").is_ok_and(|compiler| compiler.contains("clang")) {
        return;
    }
    refused(
        &kernel("    int i = threadIdx;\n    data[i] = 1;"),
        "cannot convert `const uint3` to `int`",
        "threadIdx",
        "`threadIdx.x` is one",
    );
    refused(&kernel("    data[0][n] = 1;"), "invalid types `int[int]`", "[", "`data[y * width + x]`");
    right("", "    int i = 0;\n    while ((i += 3) < n) ;\n    if (n == 7) { data[0] = i; } else {}", (1, 1, 7), &[9]);
}

#[test]
fn elements_of_structs_are_counted_as_such() {
    let body = "    Particle* p = all + threadIdx.x;\n    p->v = 2;";
    let line = [("p->v = 2;", "writes `all[4]` here")];
    check(
        "struct Particle { int x, v; }; __device__ Particle all[4];",
        body,
        (1, 5, 0),
        "and `all` has 4 elements",
        &line,
        "`all[3]`",
    );
}

#[test]
fn what_is_compared_was_read() {
    // The loop of CUDA's guide: what it reads first may be old, and `atomicCAS` finds out.
    let largest = "__device__ void largest(int* to, int v) {\n int old = *to, seen;\n do { seen = old; old = atomicCAS(to, seen, max(seen, v)); } while (seen != old);\n}";
    right(largest, "    largest(data, blockIdx.x * 32 + threadIdx.x);", (4, 32, 0), &[127, 1]);
    let body = "    __shared__ int seen[32];\n    atomicAdd(data, 1);\n    seen[threadIdx.x] = data[0];";
    let Some((diagnostic, found)) = said("", body, 1, 32, 0) else { return };
    assert!(diagnostic.message.contains("a race") && diagnostic.message.contains("`data[0]`"), "{diagnostic}");
    assert!(found.iter().any(|(part, said)| part == "data[0]" && said.starts_with("read here")), "{diagnostic}");
}

#[test]
fn variables_of_a_function_end_with_it() {
    let make = "__device__ __noinline__ int* make(int x) { int v[4]; for (int i = 0; i < 4; i++) v[i] = x; int* p = v; return p; }";
    let body = "    int* p = make(n);\n    data[0] = p[2];";
    let line = [("data[0] = p[2];", "")];
    check(make, body, (1, 1, 0), "reads a variable of a function that has ended", &line, "give the value back");
}
