// The interface between a kernel compiled for the emulated device and the runtime that runs it.
#pragma once

struct uint3 {
    unsigned int x, y, z;
};
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

// The part of a thread's state that kernels read. The runtime's own part follows behind it.
struct OnrushFiber {
    uint3 thread;
    uint3 block;
    dim3 block_dim;
    dim3 grid_dim;
    void* dynamic_shared;
    unsigned int lane;
    unsigned int linear;
    // The barrier of the source at which it waits.
    unsigned int barrier;
    // Counts down to the next forced change of thread: spinning must not keep the others from running.
    int budget;
};

enum OnrushWarpOperation {
    ONRUSH_SHUFFLE,
    ONRUSH_SHUFFLE_UP,
    ONRUSH_SHUFFLE_DOWN,
    ONRUSH_SHUFFLE_XOR,
    ONRUSH_BALLOT,
    ONRUSH_MATCH_ANY,
    ONRUSH_MATCH_ALL,
    ONRUSH_SYNC_WARP,
    ONRUSH_REDUCE_ADD,
    ONRUSH_REDUCE_MIN,
    ONRUSH_REDUCE_MAX,
    ONRUSH_REDUCE_MIN_SIGNED,
    ONRUSH_REDUCE_MAX_SIGNED,
    ONRUSH_REDUCE_AND,
    ONRUSH_REDUCE_OR,
    ONRUSH_REDUCE_XOR,
};

// A value that a kernel prints.
enum OnrushPrintedKind { ONRUSH_WHOLE, ONRUSH_FLOAT, ONRUSH_POINTER };
struct OnrushPrinted {
    unsigned long long bits;
    unsigned char kind;
    unsigned char bytes;
};

extern "C" {
// Initial-exec: one load from the thread pointer. The runtime is loaded before any kernel.
extern __thread OnrushFiber* onrush_fiber __attribute__((tls_model("initial-exec")));
// `count` gets how many threads' predicates hold; the result is the number of threads that arrived.
unsigned int onrush_barrier(int predicate, unsigned int* count);
unsigned long long onrush_warp(int operation, unsigned int mask, unsigned long long value, unsigned int parameter, unsigned int width);
void onrush_yield();
void onrush_trap(const char* text);
// From the end of a function: what guards its variables was written.
void onrush_overrun(void* place);
// For variables without a value. The elements of an array are checked when they are read. For any other variable, a
// compiler drops the call if its result is not used.
void onrush_mark(void* to, __SIZE_TYPE__ bytes);
unsigned long long onrush_nobodys(const char* name) __attribute__((pure));
int onrush_print(const char* format, unsigned int count, const OnrushPrinted* values);
void* onrush_malloc(__SIZE_TYPE__ bytes);
// `from`: who frees, if it is not the caller.
void onrush_free(void* memory, void* from = nullptr);
}
