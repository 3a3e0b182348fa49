// Functions that a kernel compiled with -fsanitize=thread calls for each access. They check bounds against the pool's
// live allocations, and races. They are not the sanitizer's own functions. Part of runtime.cpp. Accesses of one thread
// to its own stack are not looked at.
//
// Two accesses of different threads to the same bytes, one of them a write and not both atomic, are a race unless
// ordered. A barrier of the block or a __syncwarp of the warp orders them. So do a fence and an atomic operation of the
// first thread, and a later atomic operation of the second. The last rule looks at times and not at addresses, so some
// races through atomics are missed; none is reported that is not there.

namespace {

u64 first_after(const std::vector<u64>& published, u32 phase) {
    u64 first = NEVER;
    for (size_t p = (size_t)phase + 1; p < published.size(); p++) {
        if (published[p] < first) first = published[p];
    }
    return first;
}

void note(std::vector<u64>& published, u32 phase, u64 time) {
    if (published.size() <= phase) published.resize(phase + 1, NEVER);
    if (time < published[phase]) published[phase] = time;
}

struct Publications {
    u32 launch = 0;
    // By block, and by warp in it; kept past the end of a block.
    std::unordered_map<u32, std::vector<u64>> blocks;
    std::unordered_map<u64, std::vector<u64>> warps;
    std::unordered_map<u64, std::vector<u64>> threads;
} publications;

bool ordered(const Mark& mark, const Fiber* fiber) {
    const Block* block = fiber->owner;
    const Warp* warp = &block->warps[fiber->linear / 32];
    if (mark.block == block->linear) {
        if (mark.thread == fiber->linear || mark.phase < block->phase) return true;
        if (mark.thread / 32 == fiber->linear / 32 && mark.warp_phase < warp->phase) return true;
    }
    u64 acquired = fiber->acquired;
    if (block->acquired > acquired) acquired = block->acquired;
    if (warp->acquired > acquired) acquired = warp->acquired;
    if (acquired == 0) return false;
    auto thread = publications.threads.find((u64)mark.block << 16 | mark.thread);
    if (thread != publications.threads.end() && mark.fences < thread->second.size() && thread->second[mark.fences] < acquired)
        return true;
    auto warps = publications.warps.find((u64)mark.block << 16 | mark.thread / 32);
    if (warps != publications.warps.end() && first_after(warps->second, mark.warp_phase) < acquired) return true;
    auto blocks = publications.blocks.find(mark.block);
    return blocks != publications.blocks.end() && first_after(blocks->second, mark.phase) < acquired;
}

struct Found {
    Cell* cells;
    u64 start;
    u64 size;
    u64 offset;
    const char* space;
    Space in;
    bool is_fresh;
};

void outside(Fiber* fiber, Space space, bool write, u64 start, u64 offset, u64 bytes, u64 size, FaultKind kind = OUT_OF_BOUNDS) {
    Detail detail = {};
    detail.kind = kind;
    detail.space = space;
    detail.access[0] = write ? WRITE : READ;
    detail.who[0] = who(fiber);
    detail.start = start;
    detail.offset = offset;
    detail.bytes = bytes;
    detail.size = size;
    explain(fiber->owner->launch, detail);
}

u64 count_cells(u64 bytes) { return bytes / 4 + 2; }

// Behind them, for each piece of this memory, the last launch that has noted what was in it. Null where there is no
// memory for it.
Cell* new_cells(u64 bytes) { return (Cell*)calloc(count_cells(bytes) * sizeof(Cell) + (bytes / PIECE + 1) * sizeof(u32), 1); }

void no_memory(Fiber* fiber, u64 place, u64 bytes) {
    fail(fiber, Cause::CHECKER_MEMORY, place, 0,
         "there is no memory to look at the accesses to %lu bytes, the first one of them at {0}", (unsigned long)bytes);
}

__thread u64 cached_start, cached_bytes, cached_version = ~0ull;
__thread Cell* cached_cells;
__thread bool cached_fresh;

// Four bytes of an array without values, at an address that is a multiple of 4. As a float it is none.
const u32 UNSET = 0x7fc5a3e1;

void beside_own(Fiber* fiber, bool write, u64 place) {
    fail(fiber, Cause::BESIDE_VARIABLE, place, 0,
         "%s %s at {0} what is beside an array or a variable of its own", name(fiber).text, write ? "writes" : "reads");
}

// A thread's own variables, as far as their ends are known: no variable is where a function keeps its caller's frame,
// nor behind the kernel's.
void look_at_own(Fiber* fiber, u64 address, u64 bytes, bool write, u64 place, u64 frame) {
    if (!fiber->owner->launch->request->strict) return;
    bool has_value = write;
    auto is_unset = [](u64 word) { return *(const u32*)word == UNSET; };
    const u64 first = address & ~3ull;
    for (u64 word = first; word < address + bytes && !has_value; word += 4) has_value = !is_unset(word);
    // Padding between the members of a struct is copied with them.
    if (bytes == 1 && !has_value) has_value = !is_unset(first - 4) && !is_unset(first + 4);
    if (!has_value) fail(fiber, Cause::UNSET_ARRAY, place, 0,
                         "%s reads at {0} a part of its own array to which it has given no value", name(fiber).text);
    if (address + bytes > fiber->roof) beside_own(fiber, write, place);
#if defined(__x86_64__)
    // Behind the saved frame and the address to return to.
    if (address < frame + 16) {
        fail(fiber, Cause::ENDED_FUNCTION, place, 0,
             "%s %s at {0} a variable of a function that has ended", name(fiber).text, write ? "writes" : "reads");
    }
#endif
    frame = *(const u64*)frame;
    for (u64 below = (u64)fiber->stack; frame > below && frame < fiber->roof && frame < address + bytes; frame = *(const u64*)frame) {
        if (address < frame + 16) beside_own(fiber, write, place);
        below = frame;
    }
}

bool is_in(const Extent& extent, const Launch* launch, u64 address, u64 bytes) {
    return address >= launch->base + extent.offset && address + bytes <= launch->base + extent.offset + extent.bytes;
}

// Accesses beside a `const` variable, which nobody writes: the rest of such memory is string literals.
void look_at_constant(Fiber* fiber, u64 address, u64 bytes, bool write, u64 place) {
    const Launch* launch = worker->launch;
    const Request* request = launch->request;
    bool beside = false;
    for (u32 i = 0; i < request->variable_count; i++) {
        const Extent& extent = request->variables[i];
        if (is_in(extent, launch, address, bytes)) return;
        const u64 start = launch->base + extent.offset;
        beside = beside || (address + bytes > start - APART && address < start + extent.bytes + APART);
    }
    if (!beside) return;
    outside(fiber, VARIABLE, write, launch->base, address - launch->base, bytes, launch->data + launch->data_bytes - launch->base);
    fail(fiber, place, 0, "%s %s %lu bytes at offset %lu of the module's variables at {0}: none of them is there", name(fiber).text,
         write ? "writes" : "reads", (unsigned long)bytes, (unsigned long)(address - launch->base));
}

// False where nothing is to be checked, such as the thread's own stack and the kernel's parameters.
bool find(Fiber* fiber, u64 address, u64 bytes, bool write, u64 place, u64 frame, Found* found) {
    const u64 margin = fiber->owner->launch->request->strict ? STRICT_MARGIN : MARGIN;
    u64 stack = (u64)fiber->stack;
    if (address >= stack && address < stack + STACK) {
        look_at_own(fiber, address, bytes, write, place, frame);
        return false;
    }
    Launch* launch = worker->launch;
    Block* block = fiber->owner;
    // The memory of threadIdx and similar variables.
    if (address - (u64)&onrush_fiber < sizeof onrush_fiber) return false;
    if (address - (u64)block->fibers < block->threads * sizeof(Fiber)) return false;
    u64 tls = (u64)worker->tls, tls_bytes = launch->tls_bytes;
    u64 dynamic = (u64)block->dynamic_shared, dynamic_bytes = launch->request->dynamic_shared;
    const char* verb = write ? "writes" : "reads";
    bool in_static = address >= tls && address < tls + tls_bytes;
    bool in_dynamic = address >= dynamic && address < dynamic + dynamic_bytes;
    if (in_static || in_dynamic) {
        u64 start = in_static ? tls : dynamic, size = in_static ? tls_bytes : dynamic_bytes;
        const Request* request = launch->request;
        bool of_kernel = in_dynamic || request->shared_count == 0;
        for (u32 i = 0; i < request->shared_count && !of_kernel; i++) {
            const Extent& extent = request->shared[i];
            of_kernel = address >= tls + extent.offset && address + bytes <= tls + extent.offset + extent.bytes;
            // As constructors of shared memory do not run on a GPU, they have run here: what is set before is not zero.
            if (of_kernel && extent.constant) return false;
        }
        if (!of_kernel || address + bytes > start + size) {
            outside(fiber, in_static ? SHARED : DYNAMIC, write, start, address - start, bytes, size);
            fail(fiber, place, 0, "%s %s %lu bytes at offset %lu of %lu bytes of shared memory at {0}: past its end",
                 name(fiber).text, verb, (unsigned long)bytes, (unsigned long)(address - start), (unsigned long)size);
        }
        if (block->shared_cells == nullptr) block->shared_cells = new_cells(tls_bytes + dynamic_bytes + 8);
        if (block->shared_cells == nullptr) no_memory(fiber, place, tls_bytes + dynamic_bytes);
        found->offset = address - start;
        found->cells = block->shared_cells + (in_static ? 0 : tls_bytes / 4 + 1);
        found->space = in_static ? "shared memory" : "dynamic shared memory";
        found->in = in_static ? SHARED : DYNAMIC;
        found->is_fresh = false;
        found->start = start;
        found->size = size;
        return true;
    }
    found->space = "device memory";
    found->in = DEVICE;
    found->is_fresh = cached_fresh;
    if (cached_version == allocations_version && address >= cached_start && address + bytes <= cached_start + cached_bytes) {
        found->cells = cached_cells;
        found->start = cached_start;
        found->size = cached_bytes;
        found->offset = address - cached_start;
        return true;
    }
    std::unique_lock<std::mutex> guard(allocations_lock);
    auto after = allocations.upper_bound(address);
    if (after != allocations.begin()) {
        auto before = after;
        --before;
        u64 start = before->first, size = before->second.bytes;
        if (address + bytes <= start + size) {
            if (before->second.cells == nullptr) before->second.cells = new_cells(size);
            if (before->second.cells == nullptr) {
                guard.unlock();
                no_memory(fiber, place, size);
            }
            found->is_fresh = cached_fresh = before->second.is_fresh;
            cached_start = start;
            cached_bytes = size;
            cached_version = allocations_version;
            found->cells = cached_cells = before->second.cells;
            found->start = start;
            found->size = size;
            found->offset = address - start;
            return true;
        }
        if (address < start + size + margin) {
            guard.unlock();
            outside(fiber, DEVICE, write, start, address - start, bytes, size);
            fail(fiber, place, 0,
                 "%s %s %lu bytes at offset %lu of an allocation of %lu bytes at {0}: past its end", name(fiber).text, verb,
                 (unsigned long)bytes, (unsigned long)(address - start), (unsigned long)size);
        }
    }
    auto gone = freed.upper_bound(address);
    if (gone != freed.begin()) {
        --gone;
        if (address < gone->first + gone->second) {
            u64 offset = address - gone->first, size = gone->second;
            guard.unlock();
            fail(fiber, Cause::FREED, place, 0,
                 "%s %s %lu bytes at offset %lu of an allocation of %lu bytes at {0} that was freed",
                 name(fiber).text, verb, (unsigned long)bytes, (unsigned long)offset, (unsigned long)size);
        }
    }
    if (after != allocations.end() && address + margin > after->first) {
        u64 offset = after->first - address, size = after->second.bytes, start = after->first;
        guard.unlock();
        outside(fiber, DEVICE, write, start, 0 - offset, bytes, size);
        fail(fiber, place, 0, "%s %s %lu bytes at {0}, %lu bytes before the start of an allocation of %lu bytes",
             name(fiber).text, verb, (unsigned long)bytes, (unsigned long)offset, (unsigned long)size);
    }
    guard.unlock();
    if (address >= launch->data && address + bytes <= launch->data + launch->data_bytes) {
        const Request* request = launch->request;
        bool of_variable = request->variable_count == 0 || address - launch->relocated < launch->relocated_bytes;
        for (u32 i = 0; i < request->variable_count && !of_variable; i++) {
            const Extent& extent = request->variables[i];
            of_variable = is_in(extent, launch, address, bytes);
            if (of_variable && write && extent.constant) {
                outside(fiber, VARIABLE, write, launch->base, address - launch->base, bytes, launch->data_bytes, CONSTANT);
                fail(fiber, place, 0, "%s writes offset %lu of the module's variables at {0}, which is `__constant__`", name(fiber).text,
                     (unsigned long)(address - launch->data));
            }
        }
        if (!of_variable) {
            outside(fiber, VARIABLE, write, launch->base, address - launch->base, bytes, launch->data + launch->data_bytes - launch->base);
            fail(fiber, place, 0, "%s %s %lu bytes at offset %lu of the module's variables at {0}: none of them is there",
                 name(fiber).text, verb, (unsigned long)bytes, (unsigned long)(address - launch->data));
        }
        if (launch->data_cells == nullptr) launch->data_cells = new_cells(launch->data_bytes);
        if (launch->data_cells == nullptr) no_memory(fiber, place, launch->data_bytes);
        found->is_fresh = false;
        found->cells = launch->data_cells;
        found->space = "the module's variables";
        found->in = VARIABLE;
        found->start = launch->data;
        found->size = launch->data_bytes;
        found->offset = address - launch->data;
        return true;
    }
    if (is_code(launch, address)) {
        look_at_constant(fiber, address, bytes, write, place);
        return false;
    }
    if (address < 4096) {
        fail(fiber, Cause::NULL_POINTER, place, 0,
             "%s %s %lu bytes at {0} through a null pointer", name(fiber).text, verb, (unsigned long)bytes);
    }
    for (u32 t = 0; t < block->threads; t++) {
        const Fiber* other = &block->fibers[t];
        if (other->stack && address - (u64)other->stack < STACK) {
            fail(fiber, Cause::FOREIGN_VARIABLE, place, 0,
                 "%s %s %lu bytes at {0} of a variable that is %s's own", name(fiber).text, verb, (unsigned long)bytes,
                 name(other).text);
        }
    }
    // Somewhere around the block's shared memory or the module's variables, where nothing else of a kernel is.
    const u64 around = 64 << 10;
    const u64 past = address - launch->data - launch->data_bytes;
    if (launch->request->variable_count > 0 && past < around) {
        outside(fiber, VARIABLE, write, launch->base, address - launch->base, bytes, launch->data + launch->data_bytes - launch->base);
        fail(fiber, place, 0, "%s %s %lu bytes at {0}, %lu bytes behind the module's variables", name(fiber).text, verb, (unsigned long)bytes,
             (unsigned long)past);
    }
    u64 from_tls = address > tls ? address - tls : tls - address;
    u64 from_dynamic = address > dynamic ? address - dynamic : dynamic - address;
    bool by_static = tls_bytes > 0 && from_tls < around + tls_bytes, by_dynamic = from_dynamic < around + dynamic_bytes;
    if (by_static && by_dynamic) (from_tls < from_dynamic ? by_dynamic : by_static) = false;
    if (by_static || by_dynamic) {
        u64 start = by_static ? tls : dynamic, size = by_static ? tls_bytes : dynamic_bytes;
        outside(fiber, by_static ? SHARED : DYNAMIC, write, start, address - start, bytes, size);
    }
    fail(fiber, Cause::NO_ALLOCATION, place, 0,
         "%s %s %lu bytes at address 0x%lx at {0}, which belongs to no allocation", name(fiber).text, verb,
         (unsigned long)bytes, (unsigned long)address);
    return false;
}

void tell(Fiber* fiber, const Doubt& doubt) {
    explain(worker->launch, doubt.detail);
    fail(fiber, doubt.place[0], doubt.place[1], "%s", doubt.text);
}

// Whether a thread has not left the kernel.
bool runs(u32 block, u32 thread) {
    if (worker->launch->resident == nullptr) return false;
    for (const Block* other : *worker->launch->resident) {
        if (other->linear == block) return other->fibers[thread].state != DONE;
    }
    return false;
}

void race(Fiber* fiber, const Mark& mark, const Found& found, bool was_write, bool write, bool atomic, u64 place,
          FaultKind kind = RACE) {
    Detail detail = {};
    detail.kind = kind;
    detail.space = found.in;
    detail.access[0] = atomic ? UPDATE : write ? WRITE : READ;
    const bool was_atomic = mark.atomic && !mark.is_volatile;
    detail.access[1] = was_atomic ? UPDATE : was_write ? WRITE : READ;
    detail.who[0] = who(fiber);
    detail.who[1] = who(worker->launch, mark.block, mark.thread);
    detail.start = found.start;
    // As the module's symbols have it.
    detail.offset = found.offset + (found.in == VARIABLE ? found.start - worker->launch->base : 0);
    detail.bytes = mark.bytes;
    detail.size = found.size;
    const char* now = atomic ? "updates" : write ? "writes" : "reads";
    const char* then = was_atomic ? "updated" : was_write ? "wrote" : "read";
    const bool now_reads = !write && !atomic, then_reads = !was_write && !mark.atomic;
    const u32 reader_block = now_reads ? fiber->owner->linear : mark.block, reader_thread = now_reads ? fiber->linear : mark.thread;
    const char* missing = mark.block == fiber->owner->linear ? "with no barrier between" : "with no fence and atomic operation between";
    Doubt doubt{reader_block, reader_thread, found.start + found.offset, 16, {place, worker->launch->base + mark.place}, detail, ""};
    snprintf(doubt.text, sizeof doubt.text, "race: %s %s offset %lu of %s at {0}, which %s %s at {1}, %s", name(fiber).text, now,
             (unsigned long)found.offset, found.space, name(worker->launch, mark.block, mark.thread).text, then, missing);
    const bool of_read = now_reads ? was_atomic : then_reads && atomic;
    if (of_read && kind == RACE && runs(reader_block, reader_thread)) {
        for (const Doubt& other : worker->launch->doubts) {
            if (other.block == reader_block && other.thread == reader_thread && other.address == doubt.address) return;
        }
        worker->launch->doubts.push_back(doubt);
        return;
    }
    tell(fiber, doubt);
}

// A thread has made some accesses, or compares what is at an address with what it has read there.
void settle(Fiber* fiber, u64 compared, u32 accesses) {
    std::vector<Doubt>& doubts = worker->launch->doubts;
    for (size_t i = 0; i < doubts.size(); i++) {
        Doubt& doubt = doubts[i];
        if (doubt.block != fiber->owner->linear || doubt.thread != fiber->linear) continue;
        if (doubt.address == compared) {
            doubts.erase(doubts.begin() + (long)i--);
        } else if (doubt.left <= accesses) {
            const Doubt certain = doubt;
            tell(fiber, certain);
        } else {
            doubt.left -= accesses;
        }
    }
}

// Whether whoever races with `old` races with `now`, too: then the older one can go.
bool covers(const Mark& now, const Mark& old, const Fiber* fiber) {
    if (old.launch != now.launch) return true;
    // An atomic read races with less than a plain one does.
    return (old.mask & ~now.mask) == 0 && (old.atomic || !now.atomic) && ordered(old, fiber);
}

// Stores a read in one of the two places, so that both are of different threads, warps or blocks if possible. Then an
// order of one with a later write rarely orders the other.
void remember_read(Cell* cell, const Mark& mark, const Fiber* fiber) {
    Mark* reads = cell->read;
    for (u32 i = 0; i < 2; i++) {
        if (covers(mark, reads[i], fiber)) {
            reads[i] = mark;
            // One read is enough for two that it covers.
            if (i == 0 && covers(mark, reads[1], fiber)) reads[1].launch = 0;
            return;
        }
    }
    for (u32 i = 0; i < 2; i++) {
        const Mark& old = reads[i];
        if (!ordered(old, fiber)) continue;
        // A plain read of this thread stands for an atomic one right after it. Else what came before is the less likely
        // to meet a write.
        bool same = old.block == mark.block && old.thread == mark.thread && old.phase == mark.phase && old.warp_phase == mark.warp_phase;
        if (!same || old.fences != mark.fences || !mark.atomic || old.atomic || (mark.mask & ~old.mask)) reads[i] = mark;
        return;
    }
    if (reads[0].atomic != reads[1].atomic) {
        reads[reads[0].atomic ? 0 : 1] = mark;
        return;
    }
    if (mark.atomic && !reads[0].atomic) return;
    auto near = [&](const Mark& old) { return old.block != mark.block ? 0 : old.thread / 32 != mark.thread / 32 ? 1 : 2; };
    reads[near(reads[0]) > near(reads[1]) ? 0 : 1] = mark;
}

// A thread takes what nobody has given.
Detail unwritten(const Fiber* fiber, const Found& found, u64 bytes, bool update) {
    Detail detail = {};
    detail.kind = UNWRITTEN;
    detail.space = found.in;
    detail.access[0] = update ? UPDATE : READ;
    detail.who[0] = who(fiber);
    detail.start = found.start;
    detail.offset = found.offset;
    detail.bytes = bytes;
    detail.size = found.size;
    return detail;
}

// Memory of `malloc` that nobody has written. A part of a struct may be between its members, and is copied with them.
void look_for_value(Fiber* fiber, const Found& found, u64 bytes, bool update, u64 place) {
    u64 first = found.offset / 4, last = (found.offset + bytes - 1) / 4;
    if (bytes == 1 && first > 0) first--;
    if (bytes == 1 && last < (found.size - 1) / 4) last++;
    for (u64 i = first; i <= last; i++) {
        if (found.cells[i].write.launch != 0) return;
    }
    explain(worker->launch, unwritten(fiber, found, bytes, update));
    fail(fiber, place, 0, "%s %s offset %lu of memory of `malloc` at {0}, which nobody has written", name(fiber).text,
         update ? "updates" : "reads", (unsigned long)found.offset);
}

// Saves memory once, before the launch changes it: a trial runs on memory as it was.
void note_piece(Launch* launch, const Found& found, u64 offset) {
    u32* noted = (u32*)(found.cells + count_cells(found.size)) + offset / PIECE;
    if (*noted == launch->serial) return;
    *noted = launch->serial;
    launch->before.emplace_back();
    Piece& piece = launch->before.back();
    u64 start = offset / PIECE * PIECE;
    piece.address = found.start + start;
    piece.bytes = found.size - start < PIECE ? found.size - start : PIECE;
    memcpy(piece.contents, (const void*)piece.address, piece.bytes);
}

// Kinds of accesses.
enum How : u32 { WRITES = 1, ATOMIC = 2, UPDATES = 4, VOLATILE = 8, COMPARES = 16 };

// `volatile` orders nothing, and is left alone where it may be for flags that threads wait for. It indicates a missing
// barrier if, without a fence, each thread changes an element of an array and uses another's. Sums of a warp did so
// when its lanes were in step. `other` has accessed what `fiber` accesses now.
bool lacks_step(const Fiber* fiber, const Mark& other, u64 address, bool write) {
    const Launch* launch = worker->launch;
    const Block* block = fiber->owner;
    const Recent& recent = fiber->recent;
    if (other.block != block->linear || other.fences > 0 || !fiber->fences.empty()) return false;
    if (recent.phase != block->phase || recent.warp_phase != block->warps[fiber->linear / 32].phase) return false;
    // One that reads the same again and again waits.
    if (!write && recent.read[1] == address) return false;
    const Request* request = launch->request;
    auto variable = [&](u64 at) {
        for (u32 i = 0; i < request->shared_count; i++) {
            const Extent& extent = request->shared[i];
            if (at - (u64)worker->tls - extent.offset < extent.bytes) return i;
        }
        return ~0u;
    };
    for (u64 own : write ? recent.read : recent.written) {
        if (own != 0 && own != address && variable(own) == variable(address)) return true;
    }
    return false;
}

void note_recent(Fiber* fiber, u64 address, bool write) {
    const Block* block = fiber->owner;
    const u32 phase = block->phase, warp_phase = block->warps[fiber->linear / 32].phase;
    Recent& recent = fiber->recent;
    if (recent.phase != phase || recent.warp_phase != warp_phase) recent = Recent{phase, warp_phase, {0, 0}, {0, 0}};
    u64* of_kind = write ? recent.written : recent.read;
    if (of_kind[0] == 0) of_kind[0] = address;
    of_kind[1] = address;
}

void look(u64 address, u64 bytes, u32 how, u64 place, u64 frame) {
    const bool write = how & WRITES, atomic = how & ATOMIC, update = how & UPDATES, is_volatile = how & VOLATILE, compares = how & COMPARES;
    Fiber* fiber = here();
    if (fiber == nullptr) return;
    fiber->place = place;
    if (__builtin_expect(!worker->launch->doubts.empty(), 0)) settle(fiber, compares ? address : 0, 1);
    if (--fiber->budget <= 0) {
        yield(fiber);
        // At times that are not the same in each thread: other orders than the usual one are tried.
        fiber->budget = 16 + (int)(next_random() % 128);
    }
    Launch* launch = worker->launch;
    if (++launch->accesses > launch->most_accesses) fail(fiber, place, 0, "the trial is too long");
    Found found;
    if (!find(fiber, address, bytes, write, place, frame, &found)) return;
    if (publications.launch != launch->serial) {
        publications = Publications();
        publications.launch = launch->serial;
    }
    Block* block = fiber->owner;
    // Said when the block ends: if another thread writes it without a barrier between, it is a race.
    if (launch->request->strict && (found.in == SHARED || found.in == DYNAMIC) && (!write || update) && block->unwritten == 0 &&
        found.cells[found.offset / 4].write.launch != launch->serial) {
        block->unwritten = place;
        block->unwritten_thread = fiber->linear;
        block->unwritten_detail = unwritten(fiber, found, bytes, update);
    }
    if (found.is_fresh && (!write || update) && launch->request->strict) look_for_value(fiber, found, bytes, update, place);
    const bool steps = is_volatile && launch->request->strict && (found.in == SHARED || found.in == DYNAMIC);
    Mark mark;
    mark.bytes = (u8)bytes;
    mark.block = block->linear;
    mark.thread = (u16)fiber->linear;
    mark.atomic = atomic;
    mark.is_volatile = is_volatile;
    mark.phase = block->phase;
    mark.warp_phase = block->warps[fiber->linear / 32].phase;
    mark.fences = (u32)fiber->fences.size();
    mark.launch = launch->serial;
    mark.place = (u32)(place - launch->base);
    const bool keeps = write && launch->request->strict && (found.in == DEVICE || found.in == VARIABLE);
    for (u64 at = found.offset; at < found.offset + bytes;) {
        u64 in_cell = at & 3, end = found.offset + bytes;
        u64 part = 4 - in_cell < end - at ? 4 - in_cell : end - at;
        u8 mask = (u8)(((1u << part) - 1) << in_cell);
        Cell* cell = &found.cells[at / 4];
        if (__builtin_expect(compares, 0)) {
            for (Mark& read : cell->read) {
                // It has read what it compares with.
                if (read.thread == mark.thread && read.block == mark.block) read.launch = 0;
            }
        }
        const Mark& written = cell->write;
        if (written.launch == launch->serial && (written.mask & mask)) {
            if (!(written.atomic && atomic)) {
                if (!ordered(written, fiber)) race(fiber, written, found, true, write, atomic, place);
            } else if (__builtin_expect(steps, 0) && !write && written.is_volatile && !ordered(written, fiber) &&
                       lacks_step(fiber, written, address, write)) {
                race(fiber, written, found, true, write, false, place, UNSYNCED);
            }
        }
        for (u32 i = 0; write && i < 2; i++) {
            const Mark& read = cell->read[i];
            if (read.launch != launch->serial || !(read.mask & mask)) continue;
            if (!(read.atomic && atomic)) {
                if (!ordered(read, fiber)) race(fiber, read, found, false, write, atomic, place);
            } else if (__builtin_expect(steps, 0) && read.is_volatile && !ordered(read, fiber) && lacks_step(fiber, read, address, write)) {
                race(fiber, read, found, false, write, false, place, UNSYNCED);
            }
        }
        mark.mask = mask;
        if (keeps && cell->write.launch != launch->serial) note_piece(launch, found, at);
        if (write) cell->write = mark;
        else remember_read(cell, mark, fiber);
        at += part;
    }
    if (steps) note_recent(fiber, address, write);
}

// An atomic operation sees what others have published, and one that writes publishes what came before this thread's
// fences.
void publish(Fiber* fiber, bool write) {
    Launch* launch = worker->launch;
    u64 time = ++launch->now;
    fiber->acquired = time;
    if (!write) return;
    Block* block = fiber->owner;
    for (; fiber->published < fiber->fences.size(); fiber->published++) {
        u32 i = fiber->published;
        note(publications.threads[(u64)block->linear << 16 | fiber->linear], i, time);
        note(publications.warps[(u64)block->linear << 16 | fiber->linear / 32], fiber->fence_warp_phase[i], time);
        note(publications.blocks[block->linear], fiber->fence_phase[i], time);
    }
}

void fence() {
    Fiber* fiber = here();
    if (fiber == nullptr) return;
    fiber->fences.push_back(0);
    fiber->fence_phase.push_back(fiber->owner->phase);
    fiber->fence_warp_phase.push_back(fiber->owner->warps[fiber->linear / 32].phase);
}

void atomic_access(const volatile void* address, u64 bytes, u32 how, int order, u64 place, u64 frame) {
    Fiber* fiber = here();
    if (fiber == nullptr) return;
    // Between two atomic operations is where another block's view matters: it gets its turn there more often than
    // elsewhere.
    if (next_random() % 8 == 0) to_scheduler(fiber->owner, SPINNING);
    if (order >= __ATOMIC_RELEASE) fence();
    look((u64)address, bytes, how | ATOMIC, place, frame);
    publish(fiber, how & WRITES);
}

}  // namespace

// Whether it is an `atomicCAS` of the kernel, and no loop of emulated.h's own, such as in `atomicAdd` of a `float`.
u32 compares(int order) { return order == __ATOMIC_RELAXED ? COMPARES : 0; }

#define PLACE ((u64)__builtin_return_address(0))
// This function's own, in front of its caller's, as kernels are compiled with them.
#define FRAME ((u64)__builtin_frame_address(0))
#define EXPORT __attribute__((visibility("default")))

extern "C" {
EXPORT void __tsan_init() {}
EXPORT void __tsan_func_entry(void*) {
    Fiber* fiber = here();
    // Before a report would have no room.
    if (fiber && (u64)__builtin_frame_address(0) - (u64)fiber->stack < ROOM) stack_is_full(fiber, PLACE);
}
EXPORT void __tsan_func_exit() {}
EXPORT void __tsan_vptr_update(void**, void*) {}
EXPORT void __tsan_vptr_read(void**) {}
EXPORT void __tsan_read_range(void* p, unsigned long n) { look((u64)p, n, 0, PLACE, FRAME); }
EXPORT void __tsan_write_range(void* p, unsigned long n) { look((u64)p, n, WRITES, PLACE, FRAME); }
#define ONRUSH_HOOKS(BYTES)                                                                                                   \
    EXPORT void __tsan_read##BYTES(void* p) { look((u64)p, BYTES, 0, PLACE, FRAME); }                                         \
    EXPORT void __tsan_write##BYTES(void* p) { look((u64)p, BYTES, WRITES, PLACE, FRAME); }                                   \
    EXPORT void __tsan_unaligned_read##BYTES(void* p) { look((u64)p, BYTES, 0, PLACE, FRAME); }                               \
    EXPORT void __tsan_unaligned_write##BYTES(void* p) { look((u64)p, BYTES, WRITES, PLACE, FRAME); }                         \
    EXPORT void __tsan_volatile_read##BYTES(void* p) { atomic_access(p, BYTES, VOLATILE, __ATOMIC_RELAXED, PLACE, FRAME); }\
    EXPORT void __tsan_volatile_write##BYTES(void* p) { atomic_access(p, BYTES, WRITES | VOLATILE, __ATOMIC_RELAXED, PLACE, FRAME); }
ONRUSH_HOOKS(1)
ONRUSH_HOOKS(2)
ONRUSH_HOOKS(4)
ONRUSH_HOOKS(8)
ONRUSH_HOOKS(16)
#define ONRUSH_ATOMIC_FETCH(BITS, T, NAME)                                                                                    \
    EXPORT T __tsan_atomic##BITS##_fetch_##NAME(volatile T* p, T value, int order) {                                          \
        atomic_access(p, BITS / 8, WRITES | UPDATES, order, PLACE, FRAME);                                                    \
        return __atomic_fetch_##NAME(p, value, __ATOMIC_SEQ_CST);                                                             \
    }
#define ONRUSH_ATOMIC_HOOKS(BITS, T)                                                                                          \
    EXPORT T __tsan_atomic##BITS##_load(const volatile T* p, int order) {                                                     \
        atomic_access(p, BITS / 8, 0, order == __ATOMIC_SEQ_CST ? __ATOMIC_ACQUIRE : order, PLACE, FRAME);                    \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                          \
    }                                                                                                                         \
    EXPORT void __tsan_atomic##BITS##_store(volatile T* p, T value, int order) {                                              \
        atomic_access(p, BITS / 8, WRITES, order, PLACE, FRAME);                                                              \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                                         \
    }                                                                                                                         \
    EXPORT T __tsan_atomic##BITS##_exchange(volatile T* p, T value, int order) {                                              \
        atomic_access(p, BITS / 8, WRITES | UPDATES, order, PLACE, FRAME);                                                    \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                                         \
    EXPORT int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* old, T value, int order, int) {                \
        atomic_access(p, BITS / 8, WRITES | UPDATES | compares(order), order, PLACE, FRAME);                                         \
        return __atomic_compare_exchange_n(p, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
    }                                                                                                                         \
    EXPORT int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* old, T value, int order, int) {                  \
        atomic_access(p, BITS / 8, WRITES | UPDATES | compares(order), order, PLACE, FRAME);                                         \
        return __atomic_compare_exchange_n(p, old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
    }                                                                                                                         \
    EXPORT T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T old, T value, int order, int) {                      \
        atomic_access(p, BITS / 8, WRITES | UPDATES | compares(order), order, PLACE, FRAME);                                         \
        __atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                               \
        return old;                                                                                                           \
    }                                                                                                                         \
    ONRUSH_ATOMIC_FETCH(BITS, T, add)                                                                                         \
    ONRUSH_ATOMIC_FETCH(BITS, T, sub)                                                                                         \
    ONRUSH_ATOMIC_FETCH(BITS, T, and)                                                                                         \
    ONRUSH_ATOMIC_FETCH(BITS, T, or)                                                                                          \
    ONRUSH_ATOMIC_FETCH(BITS, T, xor)                                                                                         \
    ONRUSH_ATOMIC_FETCH(BITS, T, nand)
ONRUSH_ATOMIC_HOOKS(8, u8)
ONRUSH_ATOMIC_HOOKS(16, u16)
ONRUSH_ATOMIC_HOOKS(32, u32)
ONRUSH_ATOMIC_HOOKS(64, u64)
// The scope of a block orders nothing between blocks, and within a block this checker wants a barrier or the same
// fence.
EXPORT void __tsan_atomic_thread_fence(int) { fence(); }
EXPORT void __tsan_atomic_signal_fence(int) {}
}
