// The emulated device: runs the blocks of a grid on the cores of the host and the threads of a block as fibers. A
// kernel that was compiled with -fsanitize=thread calls the `__tsan_*` functions of memcheck_racecheck.h for each
// access to memory. It calls those of ubsan_hooks.h on undefined behaviour. The runs with other values in place of
// undefined ones are in initcheck.h. The output and the heap of kernels are in library.h. Not here: compiling, and the
// memory pool.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "fiber.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

// The address of a module's shared memory for the calling thread: its variables are the module's thread-local ones.
extern "C" void* __tls_get_addr(void*);

__thread OnrushFiber* onrush_fiber = nullptr;

namespace {

const u32 MAX_THREADS = 1024;
const size_t STACK = 128 << 10;
// At the end of a stack: what must never be touched, and what a report needs.
const size_t ROOM = 16 << 10;
const int BUDGET = 256;
const u64 NEVER = ~0ull;
// Bytes of shared memory that a kernel has without asking.
const u64 STRICT_SHARED = 48 << 10;
// Bytes between two variables of a module that belong to nobody, as RED_ZONE_BYTES in red_zones.rs.
const u64 APART = 256;
// Bytes around an allocation that belong to nobody, as in emulated.rs.
const u64 MARGIN = 4096;
const u64 STRICT_MARGIN = 4 << 20;

// ---- what the host asks for, and gets back ----
// Bytes of a module's static shared memory, or of its variables.
struct Extent {
    u64 offset;
    u64 bytes;
    // Whether kernels only read it: `__constant__`. For shared memory: whether the variable is the compiler's own.
    u64 constant;
};
struct Request {
    const char* kernel;
    void (*entry)(void**);
    void** arguments;
    void* handle;
    u32 grid[3];
    u32 block[3];
    u32 dynamic_shared;
    u32 workers;
    u32 checked;
    // Mistakes that run on a GPU are errors, too.
    u32 strict;
    u32 patience_seconds;
    // How much static shared memory the kernel has; the highest number where nobody knows.
    u32 static_shared;
    // The kernel's own part of static shared memory; none where nobody knows.
    u32 shared_count;
    // The module's variables, from where it was loaded on; none where nobody knows.
    u32 variable_count;
    const Extent* shared;
    const Extent* variables;
};
enum FaultKind : u32 { OTHER, OUT_OF_BOUNDS, RACE, UNWRITTEN, DIVERGENT, LEFT, MISALIGNED, DIVISION, SHIFT, CONSTANT, UNSYNCED };
enum Space : u32 { NOWHERE, DEVICE, SHARED, DYNAMIC, VARIABLE, ARRAY };
enum AccessKind : u32 { READ, WRITE, UPDATE, USE };
struct Who {
    u32 thread[3];
    u32 block[3];
};
// The same as the text, for whoever knows what the allocations are called.
struct Detail {
    FaultKind kind;
    Space space;
    AccessKind access[2];
    Who who[2];
    u64 start;
    u64 offset;
    u64 bytes;
    u64 size;
    // The column, from 1, if the compiler says it; and the type of the misaligned value.
    u64 column;
    char type[32];
};
// The cause of a failure without a detail, as `StopCause` in fault.rs.
enum class Cause : u32 {
    OTHER,
    BLOCK_MEMORY,
    NULL_POINTER,
    FOREIGN_VARIABLE,
    NO_RETURN,
    NO_MEMORY_THERE,
    UNSET_VARIABLE,
    ENDED_FUNCTION,
    UNSET_ARRAY,
    BESIDE_VARIABLE,
    CHECKER_MEMORY,
    STACK,
    PRINTF,
    BAD_FREE,
    FREED,
    NO_ALLOCATION,
    NO_PROGRESS,
    DIVISION,
    ABSENT_LANE,
    WARP_WIDTH,
    OWN_LANE,
    WARP_DIVERGENCE,
};
struct Answer {
    // 0: done, 1: the kernel failed.
    u32 status;
    Cause cause;
    // Return addresses of the accesses that the text speaks of as {0} and {1}.
    u64 place[2];
    char text[1000];
    Detail detail;
};

// There are three of them for each four bytes that a kernel touches: small.
struct Mark {
    u32 block;
    u32 phase;
    u32 warp_phase;
    u32 fences;
    u32 launch;
    // From the module's beginning on.
    u32 place;
    u16 thread;
    u8 mask : 4;
    u8 atomic : 1;
    // Atomic only because it is `volatile`.
    u8 is_volatile : 1;
    u8 bytes;
};
// The history of four bytes: the last write, and two reads, of different threads if possible. The thread that writes
// next may be one of the readers (`s[t] += s[t + k]` reads what it changes): the other one is what it races with.
struct Cell {
    Mark write;
    Mark read[2];
};
struct Allocation {
    u64 bytes;
    Cell* cells;
    // From `malloc`: what nobody has written has no value.
    bool is_fresh;
};

enum State : u8 { FRESH, READY, AT_BARRIER, AT_WARP, DONE };
enum Reason { FINISHED, SPINNING, STUCK, FAILED };

// The accesses of a thread to `volatile` shared memory since it was last in step with others. The first and the last of
// each kind are kept.
struct Recent {
    u32 phase;
    u32 warp_phase;
    u64 read[2];
    u64 written[2];
};

struct Block;
struct Fiber : OnrushFiber {
    Block* owner;
    State state;
    char* stack;
    // The end of its own variables.
    u64 roof;
    void* context;
    u64 place;
    Recent recent;
    // The operation of its warp that it waits for.
    int operation;
    u32 mask;
    u64 value;
    u32 parameter;
    u32 width;
    // For the checker: how many fences it has passed, those that an atomic operation has published and when, and when
    // it last saw another thread's.
    std::vector<u64> fences;
    std::vector<u32> fence_phase;
    std::vector<u32> fence_warp_phase;
    u32 published;
    u64 acquired;
};
struct Warp {
    u32 arrived;
    // Lanes that have left the kernel: who waits does not wait for them.
    u32 gone;
    u32 phase;
    u64 acquired;
    std::vector<u64> published;
};
struct Launch;
struct Block {
    Launch* launch;
    uint3 index;
    u32 linear;
    u32 threads;
    u32 done;
    u32 waiting;
    u32 count;
    u32 result_count, result_arrived;
    u32 phase;
    u32 spins;
    // The thread that ran last: the next one comes first when the block runs again.
    u32 last;
    u64 acquired;
    std::vector<u64> published;
    Fiber* fibers;
    Warp warps[MAX_THREADS / 32];
    u64 ready[MAX_THREADS / 64];
    char* dynamic_shared;
    std::vector<char> saved_shared;
    bool saved;
    Cell* shared_cells;
    // The first access to shared memory that nobody had written.
    u64 unwritten;
    u32 unwritten_thread;
    Detail unwritten_detail;
    Reason reason;
};
// A piece of device memory, as it was before a launch or is after it.
const u64 PIECE = 512;
struct Piece {
    u64 address;
    u64 bytes;
    char contents[PIECE];
};
struct Held {
    // With the space beside it.
    u64 rounded;
    u64 bytes;
};
// The pieces of `malloc` and `new` by address, the free ones by size, and the contents of all.
struct Heap {
    u64 used = 0;
    std::map<u64, Held> held;
    std::multimap<u64, u64> free;
    std::vector<char> contents;
};
// A possible race of a plain read with an atomic operation. It is not a race if the thread compares the value by
// `atomicCAS` within so many accesses, as the loops of CUDA's guide do.
struct Doubt {
    u32 block;
    u32 thread;
    u64 address;
    u32 left;
    u64 place[2];
    Detail detail;
    char text[400];
};
struct Launch {
    const Request* request;
    Answer* answer;
    u64 blocks;
    u32 threads;
    u32 serial;
    size_t tls_module;
    size_t tls_bytes;
    std::atomic<u64> next{0};
    std::atomic<u64> finished{0};
    std::atomic<bool> failed{false};
    std::mutex report;
    std::vector<std::pair<u64, u64>> ranges;
    std::vector<Doubt> doubts;
    const std::vector<Block*>* resident = nullptr;
    // The module's own variables: where it was loaded, the part that can be written, and what is known of it.
    u64 base = 0, data = 0, data_bytes = 0;
    // Memory that only the loader writes: it has no variables of the kernels' author.
    u64 relocated = 0, relocated_bytes = 0;
    Cell* data_cells = nullptr;
    u64 now = 1;
    // For initcheck.h: device memory before its first change, the heap before its own, and values that shuffles have
    // brought from lanes that take no part.
    std::deque<Piece> before;
    std::unique_ptr<Heap> heap;
    u64 absent = 0;
    // So many of these values, from the first on, are other ones than usual, and which.
    u64 changed = 0;
    u32 other = 0;
    // Whether some of them are variables without values.
    bool unset = false;
    u64 absent_place = 0;
    char absence[200] = "";
    Cause absence_cause = Cause::ABSENT_LANE;
    // Accesses so far, and how many a trial may have.
    u64 accesses = 0, most_accesses = NEVER;
};

struct Worker {
    Launch* launch = nullptr;
    char* tls = nullptr;
    Block* current = nullptr;
    Block* in_place = nullptr;
    void* context = nullptr;
    std::vector<char*> stacks;
    u32 random = 12345;
};
__thread Worker* worker = nullptr;

std::mutex allocations_lock;
std::map<u64, Allocation> allocations;
std::map<u64, u64> freed;
u64 allocations_version = 0;
std::mutex checked_launches;
std::mutex stacks_lock;
std::vector<char*> spare_stacks;
std::atomic<u32> stacks_made{0};
std::atomic<u32> launches{0};

// ---- stacks and switches ----
char* take_stack() {
    if (!worker->stacks.empty()) {
        char* stack = worker->stacks.back();
        worker->stacks.pop_back();
        return stack;
    }
    {
        std::lock_guard<std::mutex> guard(stacks_lock);
        if (!spare_stacks.empty()) {
            char* stack = spare_stacks.back();
            spare_stacks.pop_back();
            return stack;
        }
    }
    void* memory = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fputs("onrush: no memory for the threads of an emulated block\n", stderr);
        abort();
    }
    // A thread that overruns its stack stops here instead of writing into its neighbour's. Each guard costs a mapping,
    // of which Linux gives a process 65530. The stacks past some thousand have no guard, and are one mapping with their
    // neighbours.
    if (stacks_made.fetch_add(1) < 16384) mprotect(memory, 4096, PROT_NONE);
    return (char*)memory;
}

void trampoline();
void settle(Fiber* fiber, u64 compared, u32 accesses);

#if defined(__x86_64__)
extern "C" void onrush_switch(void** save, void* load);
asm(R"(
.text
.globl onrush_switch
.hidden onrush_switch
.type onrush_switch,@function
onrush_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size onrush_switch,.-onrush_switch
)");
void prepare(Fiber* fiber) {
    void** top = (void**)(fiber->stack + STACK - 64);
    *--top = nullptr;
    *--top = (void*)trampoline;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    fiber->context = top;
}
void change(void** save, void* load) { onrush_switch(save, load); }
#else
void prepare(Fiber* fiber) {
    ucontext_t* context = (ucontext_t*)(fiber->stack + STACK - sizeof(ucontext_t) - 64);
    context = (ucontext_t*)((u64)context & ~63ull);
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack + 4096;
    context->uc_stack.ss_size = (char*)context - fiber->stack - 4096 - 256;
    context->uc_link = nullptr;
    makecontext(context, trampoline, 0);
    fiber->context = context;
}
void change(void** save, void* load) {
    ucontext_t here;
    *save = &here;
    swapcontext(&here, (ucontext_t*)load);
}
#endif

Fiber* here() { return static_cast<Fiber*>(onrush_fiber); }

void set_ready(Block* block, u32 thread) { block->ready[thread / 64] |= 1ull << thread % 64; }
void clear_ready(Block* block, u32 thread) { block->ready[thread / 64] &= ~(1ull << thread % 64); }

// The next thread that can run, from `after` on and around; null if there is none.
Fiber* next_ready(Block* block, u32 after) {
    u32 words = (block->threads + 63) / 64;
    u32 word = after / 64;
    u64 bits = block->ready[word] & ~(after % 64 == 63 ? ~0ull : (2ull << after % 64) - 1);
    for (u32 i = 0; i <= words; i++) {
        if (bits != 0) return &block->fibers[word * 64 + __builtin_ctzll(bits)];
        word = word + 1 == words ? 0 : word + 1;
        bits = block->ready[word];
    }
    return nullptr;
}

void to_scheduler(Block* block, Reason reason) {
    block->reason = reason;
    void* ignored;
    Fiber* fiber = here();
    if (fiber) block->last = fiber->linear;
    change(fiber ? &fiber->context : &ignored, worker->context);
}

void run_fiber(Fiber* fiber, void** save) {
    if (fiber->state == FRESH) {
        fiber->stack = take_stack();
        fiber->state = READY;
        prepare(fiber);
    }
    onrush_fiber = fiber;
    change(save, fiber->context);
}

// The calling thread cannot go on: lets another one.
void leave(Fiber* fiber) {
    Block* block = fiber->owner;
    Fiber* next = next_ready(block, fiber->linear);
    if (next == fiber) return;
    if (next == nullptr) {
        to_scheduler(block, STUCK);
    } else {
        run_fiber(next, &fiber->context);
    }
}

u32 next_random() {
    u32 x = worker->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return worker->random = x;
}

void fail_with(Fiber* fiber, Cause cause, u64 place0, u64 place1, const char* format, va_list list) {
    Launch* launch = worker->launch;
    {
        std::lock_guard<std::mutex> guard(launch->report);
        if (!launch->failed.load()) {
            Answer* answer = launch->answer;
            vsnprintf(answer->text, sizeof answer->text, format, list);
            answer->status = 1;
            answer->cause = cause;
            answer->place[0] = place0;
            answer->place[1] = place1;
            launch->failed.store(true);
        }
    }
    if (fiber != nullptr) to_scheduler(fiber->owner, FAILED);
}
void fail(Fiber* fiber, Cause cause, u64 place0, u64 place1, const char* format, ...) __attribute__((format(printf, 5, 6)));
void fail(Fiber* fiber, Cause cause, u64 place0, u64 place1, const char* format, ...) {
    va_list list;
    va_start(list, format);
    fail_with(fiber, cause, place0, place1, format, list);
    va_end(list);
}
void fail(Fiber* fiber, u64 place0, u64 place1, const char* format, ...) __attribute__((format(printf, 4, 5)));
void fail(Fiber* fiber, u64 place0, u64 place1, const char* format, ...) {
    va_list list;
    va_start(list, format);
    fail_with(fiber, Cause::OTHER, place0, place1, format, list);
    va_end(list);
}

struct Name {
    char text[96];
};
Who who(const Fiber* fiber) {
    return Who{{fiber->thread.x, fiber->thread.y, fiber->thread.z}, {fiber->block.x, fiber->block.y, fiber->block.z}};
}
Who who(const Launch* launch, u32 block, u32 thread) {
    const u32* g = launch->request->grid;
    const u32* b = launch->request->block;
    return Who{{thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]}, {block % g[0], block / g[0] % g[1], block / g[0] / g[1]}};
}
// Sets the subject of the next failure. Only checked kernels have one, and these run on one core.
void explain(Launch* launch, const Detail& detail) {
    if (!launch->failed.load()) launch->answer->detail = detail;
}
Name name(const Fiber* fiber) {
    Name name;
    snprintf(name.text, sizeof name.text, "thread (%u,%u,%u) of block (%u,%u,%u)", fiber->thread.x, fiber->thread.y,
             fiber->thread.z, fiber->block.x, fiber->block.y, fiber->block.z);
    return name;
}
Name name(const Launch* launch, u32 block, u32 thread) {
    const u32* g = launch->request->grid;
    const u32* b = launch->request->block;
    Name name;
    snprintf(name.text, sizeof name.text, "thread (%u,%u,%u) of block (%u,%u,%u)", thread % b[0], thread / b[0] % b[1],
             thread / b[0] / b[1], block % g[0], block / g[0] % g[1], block / g[0] / g[1]);
    return name;
}

// ---- barriers ----

// Detects a barrier that threads of a block reach in different places, or that some never reach. Such a kernel hangs,
// goes on or computes nonsense, depending on the GPU. `arrived` is a thread that waits, if the caller knows one.
bool all_arrive(Block* block) {
    Fiber* first = nullptr;
    Fiber* other = nullptr;
    for (u32 t = 0; t < block->threads; t++) {
        Fiber* fiber = &block->fibers[t];
        if (fiber->state == DONE) continue;
        if (!first) first = fiber;
        else if (fiber->barrier != first->barrier && !other) other = fiber;
    }
    if (!first) return true;
    Detail detail = {};
    detail.who[0] = who(first);
    if (other) {
        detail.kind = DIVERGENT;
        detail.who[1] = who(other);
        explain(block->launch, detail);
        fail(nullptr, first->place, other->place, "%s waits at __syncthreads at {0}, and %s at another one at {1}", name(first).text,
             name(other).text);
        return false;
    }
    if (block->done == 0) return true;
    for (u32 t = 0; t < block->threads && !other; t++) {
        if (block->fibers[t].state == DONE) other = &block->fibers[t];
    }
    detail.kind = LEFT;
    detail.who[1] = who(other);
    explain(block->launch, detail);
    fail(nullptr, first->place, other->place, "%s waits at __syncthreads at {0}, and %s has left the kernel", name(first).text,
         name(other).text);
    return false;
}

void finish_barrier(Block* block) {
    block->result_count = block->count;
    block->result_arrived = block->waiting;
    block->count = 0;
    block->waiting = 0;
    block->phase++;
    u64 acquired = block->acquired;
    for (u32 t = 0; t < block->threads; t++) {
        Fiber* fiber = &block->fibers[t];
        if (fiber->acquired > acquired) acquired = fiber->acquired;
        if (fiber->state == AT_BARRIER) {
            fiber->state = READY;
            set_ready(block, t);
        }
    }
    block->acquired = acquired;
}

const char* operation_name(int operation) {
    switch (operation) {
        case ONRUSH_SYNC_WARP: return "__syncwarp";
        case ONRUSH_BALLOT: return "__ballot_sync";
        case ONRUSH_MATCH_ANY: return "__match_any_sync";
        case ONRUSH_MATCH_ALL: return "__match_all_sync";
        case ONRUSH_SHUFFLE: return "__shfl_sync";
        case ONRUSH_SHUFFLE_UP: return "__shfl_up_sync";
        case ONRUSH_SHUFFLE_DOWN: return "__shfl_down_sync";
        case ONRUSH_SHUFFLE_XOR: return "__shfl_xor_sync";
        default: return "__reduce_*_sync";
    }
}

u64 reduce(int operation, u32 a, u32 b) {
    switch (operation) {
        case ONRUSH_REDUCE_ADD: return a + b;
        case ONRUSH_REDUCE_MIN: return a < b ? a : b;
        case ONRUSH_REDUCE_MAX: return a > b ? a : b;
        case ONRUSH_REDUCE_MIN_SIGNED: return (int)a < (int)b ? a : b;
        case ONRUSH_REDUCE_MAX_SIGNED: return (int)a > (int)b ? a : b;
        case ONRUSH_REDUCE_AND: return a & b;
        case ONRUSH_REDUCE_OR: return a | b;
        default: return a ^ b;
    }
}

// The value of a shuffle from a lane that takes no part: undefined, and not a mistake if nobody uses it.
u64 nobodys(Fiber* fiber, u32 source) {
    Launch* launch = worker->launch;
    // As a float or a double it is no number, and what is computed with it is none.
    if (!launch->request->strict) return 0x7ffda5a57ffda5a5ull;
    // Far from what kernels compute with, and from each other, as whole numbers and as floats.
    const u64 usual = 0x7e9676997e967699ull, other = 0xfea98966fea98966ull;
    u64 number = ++launch->absent;
    if (number == launch->changed) {
        u32 lanes = fiber->owner->threads - (fiber->linear & ~31u);
        char why[64];
        if (source < lanes && !(fiber->mask >> source & 1)) snprintf(why, sizeof why, "is not in the mask 0x%08x", fiber->mask);
        else if (source < lanes) snprintf(why, sizeof why, "has left the kernel");
        else snprintf(why, sizeof why, "its block of %u threads does not have", fiber->owner->threads);
        launch->absent_place = fiber->place;
        launch->absence_cause = Cause::ABSENT_LANE;
        snprintf(launch->absence, sizeof launch->absence, "%s reads lane %u of its warp, which %s, by %s", name(fiber).text, source, why,
                 operation_name(fiber->operation));
    }
    return number <= launch->changed ? other : usual;
}

// All lanes of `mask` have arrived: each one's value becomes its result.
void finish_warp(Block* block, u32 first, u32 mask, int operation) {
    Fiber* lanes = &block->fibers[first];
    u64 values[32];
    u32 ballot = 0;
    u64 all = 0;
    bool started = false, same = true;
    for (u32 rest = mask; rest; rest &= rest - 1) {
        u32 lane = __builtin_ctz(rest);
        u64 value = values[lane] = lanes[lane].value;
        ballot |= (u32)(value != 0) << lane;
        if (operation >= ONRUSH_REDUCE_ADD) all = started ? reduce(operation, (u32)all, (u32)value) : value;
        else if (!started) all = value;
        same = same && value == all;
        started = true;
    }
    Warp* warp = &block->warps[first / 32];
    if (operation == ONRUSH_SYNC_WARP) {
        for (u32 rest = mask; rest; rest &= rest - 1) {
            u64 acquired = lanes[__builtin_ctz(rest)].acquired;
            if (acquired > warp->acquired) warp->acquired = acquired;
        }
        warp->phase++;
    }
    for (u32 rest = mask; rest; rest &= rest - 1) {
        u32 lane = __builtin_ctz(rest);
        Fiber* fiber = &lanes[lane];
        int width = (int)fiber->width, base = (int)lane & -width, source = (int)lane;
        switch (operation) {
            case ONRUSH_SHUFFLE: source = base + ((int)fiber->parameter & (width - 1)); break;
            case ONRUSH_SHUFFLE_UP:
                source = (int)lane - (int)fiber->parameter;
                if (source < base) source = (int)lane;
                break;
            case ONRUSH_SHUFFLE_DOWN:
                source = (int)lane + (int)fiber->parameter;
                if (source >= base + width) source = (int)lane;
                break;
            case ONRUSH_SHUFFLE_XOR:
                source = (int)lane ^ (int)fiber->parameter;
                if (source >= base + width) source = (int)lane;
                break;
            case ONRUSH_BALLOT: fiber->value = ballot; break;
            case ONRUSH_MATCH_ANY: {
                u32 matches = 0;
                for (u32 others = mask; others; others &= others - 1) {
                    u32 other = __builtin_ctz(others);
                    matches |= (u32)(values[other] == values[lane]) << other;
                }
                fiber->value = matches;
                break;
            }
            case ONRUSH_MATCH_ALL: fiber->value = same ? mask : 0; break;
            case ONRUSH_SYNC_WARP: break;
            default: fiber->value = all;
        }
        if (operation <= ONRUSH_SHUFFLE_XOR) fiber->value = mask >> source & 1 ? values[source] : nobodys(fiber, (u32)source);
        if (fiber->state == AT_WARP) {
            fiber->state = READY;
            set_ready(block, first + lane);
        }
    }
    block->warps[first / 32].arrived &= ~mask;
}

// Whether all lanes that `fiber` waits for have come to its operation, but for those that have left the kernel: then it
// is done.
bool try_finish_warp(Block* block, Fiber* fiber) {
    u32 first = fiber->linear & ~31u, mask = fiber->mask;
    Warp* warp = &block->warps[first / 32];
    if (((warp->arrived | warp->gone) & mask) != mask) return false;
    for (u32 rest = mask & warp->arrived; rest; rest &= rest - 1) {
        Fiber* other = &block->fibers[first + __builtin_ctz(rest)];
        if (other->operation != fiber->operation || other->mask != mask) {
            fail(here(), Cause::WARP_DIVERGENCE, fiber->place, other->place,
                 "%s calls %s at {0} with mask 0x%08x, and lane %u of its warp calls %s at {1} with mask 0x%08x", name(fiber).text,
                 operation_name(fiber->operation), mask, other->lane, operation_name(other->operation), other->mask);
        }
    }
    finish_warp(block, first, mask & warp->arrived, fiber->operation);
    return true;
}

// A lane has left the kernel, and others of its warp may have waited for it alone.
void lane_is_gone(Block* block, Fiber* fiber) {
    u32 first = fiber->linear & ~31u;
    Warp* warp = &block->warps[first / 32];
    warp->gone |= 1u << fiber->lane;
    for (u32 rest = warp->arrived; rest; rest &= rest - 1) {
        u32 lane = __builtin_ctz(rest);
        if (warp->arrived >> lane & 1) try_finish_warp(block, &block->fibers[first + lane]);
    }
}

// Runs threads on the stack that it was started on, one after the other, until one of them has to leave its stack.
void trampoline() {
    for (;;) {
        Fiber* fiber = here();
        Block* block = fiber->owner;
        const Request* request = worker->launch->request;
        fiber->roof = (u64)__builtin_frame_address(0);
        request->entry(request->arguments);
        if (!worker->launch->doubts.empty()) settle(fiber, 0, ~0u);
        fiber->state = DONE;
        block->done++;
        clear_ready(block, fiber->linear);
        lane_is_gone(block, fiber);
        if (block->waiting > 0 && block->waiting == block->threads - block->done) {
            if (request->strict && !all_arrive(block)) to_scheduler(block, FAILED);
            finish_barrier(block);
        }
        Fiber* next = next_ready(block, fiber->linear);
        char* stack = fiber->stack;
        fiber->stack = nullptr;
        if (next != nullptr && next->state == FRESH) {
            next->stack = stack;
            next->state = READY;
            onrush_fiber = next;
            continue;
        }
        // Nothing takes the stack before the switch below.
        worker->stacks.push_back(stack);
        if (next == nullptr) {
            to_scheduler(block, block->done == block->threads ? FINISHED : STUCK);
        } else {
            run_fiber(next, &fiber->context);
        }
    }
}

void explain_deadlock(Launch* launch, Block* block) {
    Fiber* barrier = nullptr;
    Fiber* warp = nullptr;
    for (u32 t = 0; t < block->threads; t++) {
        Fiber* fiber = &block->fibers[t];
        if (fiber->state == AT_BARRIER && !barrier) barrier = fiber;
        if (fiber->state == AT_WARP && !warp) warp = fiber;
    }
    if (warp != nullptr) {
        u32 first = warp->linear & ~31u;
        u32 missing = warp->mask & ~block->warps[first / 32].arrived;
        for (u32 rest = warp->mask; rest; rest &= rest - 1) {
            u32 lane = __builtin_ctz(rest);
            if (first + lane < block->threads && block->fibers[first + lane].state != AT_WARP) missing |= 1u << lane;
            if (block->warps[first / 32].gone >> lane & 1) missing &= ~(1u << lane);
        }
        u32 lane = missing ? __builtin_ctz(missing) : 0;
        Fiber* other = first + lane < block->threads ? &block->fibers[first + lane] : nullptr;
        const char* where = other == nullptr             ? "does not exist"
                            : other->state == AT_BARRIER ? "waits at __syncthreads at {1}"
                                                         : "waits at another warp operation at {1}";
        fail(nullptr, other ? Cause::WARP_DIVERGENCE : Cause::OTHER, warp->place, other ? other->place : 0,
             "deadlock: %s waits at %s at {0} with mask 0x%08x, and lane %u of its warp %s", name(warp).text,
             operation_name(warp->operation), warp->mask, lane, where);
    } else if (barrier != nullptr) {
        fail(nullptr, barrier->place, 0, "deadlock: %s waits at __syncthreads at {0}, and no other thread of its block can run",
             name(barrier).text);
    } else {
        fail(nullptr, 0, 0, "deadlock in block (%u,%u,%u)", block->index.x, block->index.y, block->index.z);
    }
    (void)launch;
}

// ---- blocks ----
Block* start_block(Launch* launch, u64 linear) {
    Block* block = new Block();
    const u32* g = launch->request->grid;
    const u32* b = launch->request->block;
    block->launch = launch;
    block->linear = (u32)linear;
    block->index = uint3{(u32)(linear % g[0]), (u32)(linear / g[0] % g[1]), (u32)(linear / g[0] / g[1])};
    block->threads = launch->threads;
    block->last = launch->threads - 1;
    block->fibers = new Fiber[launch->threads]();
    size_t dynamic = launch->request->dynamic_shared;
    block->dynamic_shared = (char*)aligned_alloc(128, (dynamic + 256) / 128 * 128);
    // Shared memory starts with whatever was there: a kernel that relies on zeros must fail here too.
    memset(block->dynamic_shared, 0xa5, dynamic);
    for (u32 t = 0; t < launch->threads; t++) {
        Fiber* fiber = &block->fibers[t];
        fiber->thread = uint3{t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
        fiber->block = block->index;
        fiber->block_dim = dim3(b[0], b[1], b[2]);
        fiber->grid_dim = dim3(g[0], g[1], g[2]);
        fiber->dynamic_shared = block->dynamic_shared;
        fiber->lane = t % 32;
        fiber->linear = t;
        fiber->budget = BUDGET;
        fiber->owner = block;
        fiber->state = FRESH;
        set_ready(block, t);
    }
    return block;
}

void end_block(Block* block) {
    for (u32 t = 0; t < block->threads; t++) {
        if (block->fibers[t].stack) worker->stacks.push_back(block->fibers[t].stack);
    }
    delete[] block->fibers;
    free(block->dynamic_shared);
    free(block->shared_cells);
    delete block;
}

void put_in_place(Block* block) {
    size_t bytes = worker->launch->tls_bytes;
    if (worker->in_place == block || bytes == 0) return;
    if (worker->in_place != nullptr) {
        worker->in_place->saved_shared.assign(worker->tls, worker->tls + bytes);
        worker->in_place->saved = true;
    }
    if (block->saved) {
        memcpy(worker->tls, block->saved_shared.data(), bytes);
    } else if (worker->launch->request->checked) {
        memset(worker->tls, 0xa5, bytes);
    }
    worker->in_place = block;
}

Reason run_block(Block* block) {
    put_in_place(block);
    worker->current = block;
    Fiber* first = next_ready(block, block->last);
    if (first == nullptr) return STUCK;
    run_fiber(first, &worker->context);
    onrush_fiber = nullptr;
    return block->reason;
}

double seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void work(Launch* launch) {
    Worker state;
    state.launch = launch;
    worker = &state;
    if (launch->tls_bytes > 0) {
        struct {
            unsigned long module, offset;
        } index = {launch->tls_module, 0};
        state.tls = (char*)__tls_get_addr(&index);
    }
    const size_t most_resident = 32;
    std::vector<Block*> resident;
    // Checked kernels run on one core.
    if (launch->request->checked) launch->resident = &resident;
    size_t at = 0;
    bool more = true, want = true;
    double waiting_since = 0;
    u64 finished_then = 0;
    while (!launch->failed.load(std::memory_order_relaxed)) {
        if (want && more && resident.size() < most_resident) {
            u64 next = launch->next.fetch_add(1);
            if (next < launch->blocks) {
                at = resident.size();
                resident.push_back(start_block(launch, next));
            } else {
                more = false;
            }
        }
        want = false;
        if (resident.empty()) break;
        if (at >= resident.size()) at = 0;
        Block* block = resident[at];
        Reason reason = run_block(block);
        if (reason == FINISHED) {
            if (block->unwritten != 0) {
                const Detail& detail = block->unwritten_detail;
                explain(launch, detail);
                fail(nullptr, block->unwritten, 0, "%s %s offset %lu of shared memory at {0}, which no thread of the block has written",
                     name(launch, block->linear, block->unwritten_thread).text,
                     detail.access[0] == UPDATE ? "updates" : "reads", (unsigned long)detail.offset);
            }
            state.in_place = nullptr;
            end_block(block);
            resident.erase(resident.begin() + (long)at);
            launch->finished.fetch_add(1);
            want = resident.empty();
            waiting_since = 0;
        } else if (reason == SPINNING) {
            // Its threads wait for another block: others run meanwhile, new ones too.
            at++;
            want = more;
            sched_yield();
            u64 finished = launch->finished.load();
            if (waiting_since == 0 || finished != finished_then) {
                waiting_since = seconds();
                finished_then = finished;
            } else if (seconds() - waiting_since > launch->request->patience_seconds) {
                // One that spins, and none of those that wait for it at a barrier.
                u32 t = 0;
                while (t + 1 < block->threads && block->fibers[t].state != READY) t++;
                const Fiber* fiber = &block->fibers[t];
                fail(nullptr, Cause::NO_PROGRESS, fiber->place, 0,
                     "no block has finished for %u seconds while threads spin, %s at {0}",
                     launch->request->patience_seconds, name(fiber).text);
            }
        } else if (reason == STUCK) {
            explain_deadlock(launch, block);
        }
    }
    for (Block* block : resident) end_block(block);
    std::lock_guard<std::mutex> guard(stacks_lock);
    spare_stacks.insert(spare_stacks.end(), state.stacks.begin(), state.stacks.end());
    worker = nullptr;
}

void* work_thread(void* launch) {
    work((Launch*)launch);
    return nullptr;
}

struct Search {
    u64 address;
    Launch* launch;
};
int look_at_module(dl_phdr_info* info, size_t, void* data) {
    Search* search = (Search*)data;
    bool ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        u64 start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && start <= search->address && search->address < start + header.p_memsz) ours = true;
    }
    if (!ours) return 0;
    search->launch->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        u64 start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD) search->launch->ranges.push_back({start, start + header.p_memsz});
        if (header.p_type == PT_LOAD && (header.p_flags & PF_W)) {
            search->launch->data = start & ~3ull;
            search->launch->data_bytes = start + header.p_memsz - search->launch->data;
        }
        if (header.p_type == PT_GNU_RELRO) {
            search->launch->relocated = start;
            search->launch->relocated_bytes = header.p_memsz;
        }
        if (header.p_type == PT_TLS) {
            search->launch->tls_module = info->dlpi_tls_modid;
            search->launch->tls_bytes = header.p_memsz;
        }
    }
    return 1;
}

// Lets others run. The thread has recorded its place before.
void yield(Fiber* fiber) {
    Block* block = fiber->owner;
    fiber->budget = BUDGET;
    Fiber* next = next_ready(block, fiber->linear);
    // When checked, blocks take turns at random: each sees the others half done.
    bool turn = worker->launch->request->checked && next_random() % 8 == 0;
    if (next == fiber || turn || ++block->spins > 2 * block->threads) {
        block->spins = 0;
        to_scheduler(block, SPINNING);
    } else {
        run_fiber(next, &fiber->context);
    }
}

}  // namespace

extern "C" {

unsigned int onrush_barrier(int predicate, unsigned int* count) {
    Fiber* fiber = here();
    Block* block = fiber->owner;
    fiber->place = (u64)__builtin_return_address(0);
    block->waiting++;
    block->count += predicate != 0;
    if (block->waiting == block->threads - block->done) {
        if (worker->launch->request->strict && !all_arrive(block)) to_scheduler(block, FAILED);
        finish_barrier(block);
    } else {
        fiber->state = AT_BARRIER;
        clear_ready(block, fiber->linear);
        leave(fiber);
    }
    // The next barrier cannot finish before this thread has arrived there.
    if (count != nullptr) *count = block->result_count;
    return block->result_arrived;
}

unsigned long long onrush_warp(int operation, unsigned int mask, unsigned long long value, unsigned int parameter, unsigned int width) {
    Fiber* fiber = here();
    Block* block = fiber->owner;
    u32 first = fiber->linear & ~31u;
    u32 left = block->threads - first;
    if (left < 32) mask &= (1u << left) - 1;
    fiber->place = (u64)__builtin_return_address(0);
    if (!(mask >> fiber->lane & 1)) {
        fail(fiber, Cause::OWN_LANE, fiber->place, 0,
             "%s calls %s at {0} with mask 0x%08x, which its own lane %u is not in", name(fiber).text,
             operation_name(operation), mask, fiber->lane);
    }
    if (width == 0 || width > 32 || (width & (width - 1))) {
        fail(fiber, Cause::WARP_WIDTH, fiber->place, 0,
             "%s calls %s at {0} with width %d, which is no power of two up to 32", name(fiber).text,
             operation_name(operation), (int)width);
    }
    fiber->operation = operation;
    fiber->mask = mask;
    fiber->value = value;
    fiber->parameter = parameter;
    fiber->width = width;
    Warp* warp = &block->warps[first / 32];
    warp->arrived |= 1u << fiber->lane;
    if (!try_finish_warp(block, fiber)) {
        fiber->state = AT_WARP;
        clear_ready(block, fiber->linear);
        leave(fiber);
    }
    return fiber->value;
}

void onrush_yield() {
    Fiber* fiber = here();
    if (fiber == nullptr) return;
    fiber->place = (u64)__builtin_return_address(0);
    yield(fiber);
}

void onrush_trap(const char* text) {
    Fiber* fiber = here();
    fail(fiber, (u64)__builtin_return_address(0), 0, "%s: %s at {0}", name(fiber).text, text);
}

void onrush_overrun(void* place) {
    Fiber* fiber = here();
    fail(fiber, Cause::BESIDE_VARIABLE, (u64)place, 0,
         "%s has written past an array of its own, in the function that ends at {0}", name(fiber).text);
}

}  // extern "C"

namespace {

// An integer division without a result: a GPU gives some number, a processor ends the process.
void on_division(int, siginfo_t* info, void*) {
    Fiber* fiber = here();
    if (fiber == nullptr) {
        signal(SIGFPE, SIG_DFL);
        return;
    }
    // The signal is the thread's own, at an instruction of the kernel: its stack is left as by a trap.
    const char* what = "a whole number is divided by zero, or the lowest one by -1";
    // A place is the one behind a call, and this is the division itself. Only checked code knows its lines.
    u64 place = (u64)info->si_addr + 1;
    if (worker->launch->request->checked) fail(fiber, Cause::DIVISION, place, 0, "%s: %s at {0}", name(fiber).text, what);
    else fail(fiber, Cause::DIVISION, 0, 0, "%s: %s", name(fiber).text, what);
}

std::once_flag division_once;
void watch_divisions() {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_division;
    action.sa_flags = SA_NODEFER | SA_SIGINFO;
    sigaction(SIGFPE, &action, nullptr);
}

bool is_code(const Launch* launch, u64 address) {
    for (const auto& range : launch->ranges) {
        if (address >= range.first && address < range.second) return true;
    }
    return false;
}

void stack_is_full(Fiber* fiber, u64 place) {
    fail(fiber, Cause::STACK, place, 0,
         "%s needs more than %lu KiB of stack at {0}", name(fiber).text, (unsigned long)(STACK - ROOM) >> 10);
}

struct sigaction before_faults[2];
// A thread's stack is full, or what a kernel calls has used an address that is none. In other code it is as it was.
void on_fault(int signal, siginfo_t* info, void* context) {
    Fiber* fiber = here();
    if (fiber == nullptr || worker == nullptr) {
        const struct sigaction& before = before_faults[signal == SIGILL];
        if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction) before.sa_sigaction(signal, info, context);
        else sigaction(signal, &before, nullptr);
        return;
    }
    u64 place = fiber->place, address = (u64)info->si_addr;
#if defined(__x86_64__)
    u64 instruction = (u64)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    // A place is the one behind a call, and this is the instruction itself.
    u64 stack = (u64)((ucontext_t*)context)->uc_mcontext.gregs[REG_RSP];
    if (is_code(worker->launch, instruction)) place = instruction + 1;
    // A call of what is no function: who called.
    else if (stack - (u64)fiber->stack < STACK && is_code(worker->launch, *(const u64*)stack)) place = *(const u64*)stack;
#endif
    // clang++ puts an instruction that is none where it knows that nothing has a meaning any more.
    if (signal == SIGILL) {
        fail(fiber, place, 0, "%s is at {0} where C++ has no meaning: an index that is always past its array, a loop without an end",
             name(fiber).text);
    }
    if (address - (u64)fiber->stack < ROOM) stack_is_full(fiber, place);
    fail(fiber, Cause::NO_MEMORY_THERE, place, 0,
         "%s uses the address 0x%lx at {0}, where no memory is", name(fiber).text, (unsigned long)address);
}

// For the calling thread: the signal comes on a stack of its own.
void watch_faults() {
    stack_t stack;
    if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
        const size_t bytes = 64 << 10;
        stack.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack.ss_sp == MAP_FAILED) return;
        stack.ss_size = bytes;
        stack.ss_flags = 0;
        sigaltstack(&stack, nullptr);
    }
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_NODEFER | SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &action, &before_faults[0]);
        sigaction(SIGILL, &action, &before_faults[1]);
    });
}

}  // namespace

namespace {

// ---- what is allocated ----
void know(u64 address, u64 bytes, bool is_fresh) {
    std::lock_guard<std::mutex> guard(allocations_lock);
    freed.erase(address);
    allocations[address] = Allocation{bytes, nullptr, is_fresh};
    allocations_version++;
}

void forget(u64 address) {
    std::lock_guard<std::mutex> guard(allocations_lock);
    auto found = allocations.find(address);
    if (found == allocations.end()) return;
    if (freed.size() > 1024) freed.clear();
    freed[address] = found->second.bytes;
    free(found->second.cells);
    allocations.erase(found);
    allocations_version++;
}

}  // namespace

#include "memcheck_racecheck.h"
#include "ubsan_hooks.h"
#include "library.h"

namespace {

void run_launch(Launch* launch, const Request* request, Answer* answer) {
    answer->status = 0;
    answer->place[0] = answer->place[1] = 0;
    answer->text[0] = 0;
    answer->detail = Detail{};
    launch->request = request;
    launch->answer = answer;
    launch->blocks = (u64)request->grid[0] * request->grid[1] * request->grid[2];
    launch->threads = request->block[0] * request->block[1] * request->block[2];
    launch->serial = ++launches;
    launch->tls_module = launch->tls_bytes = 0;
    Search search{(u64)request->entry, launch};
    dl_iterate_phdr(look_at_module, &search);
    const u64 own_shared = request->static_shared == ~0u ? launch->tls_bytes : request->static_shared;
    if (request->strict && own_shared + request->dynamic_shared > STRICT_SHARED) {
        Worker state;
        state.launch = launch;
        worker = &state;
        fail(nullptr, Cause::BLOCK_MEMORY, 0, 0, "a block takes %lu bytes of shared memory, and has %lu",
             (unsigned long)(own_shared + request->dynamic_shared), (unsigned long)STRICT_SHARED);
        worker = nullptr;
        return;
    }
    u64 workers = request->checked ? 1 : request->workers;
    if (workers > launch->blocks) workers = launch->blocks;
    std::vector<pthread_t> threads;
    for (u64 i = 1; i < workers; i++) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, work_thread, launch) == 0) threads.push_back(thread);
    }
    work(launch);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    free(launch->data_cells);
    launch->data_cells = nullptr;
}

}  // namespace

#include "initcheck.h"

extern "C" {

void onrush_register(u64 address, u64 bytes) { know(address, bytes, false); }
void onrush_unregister(u64 address) { forget(address); }

int onrush_launch(const Request* request, Answer* answer) {
    std::unique_lock<std::mutex> alone(checked_launches, std::defer_lock);
    // One core: the checker's picture of memory needs no locks, and a report can be had again.
    if (request->checked) alone.lock();
    std::call_once(division_once, watch_divisions);
    if (request->strict) {
        watch_faults();
        return launch_and_try(request, answer);
    }
    Launch launch;
    run_launch(&launch, request, answer);
    return (int)answer->status;
}

}  // extern "C"
