// Functions that a kernel compiled with UNDEFINED of compiler.rs calls on undefined behaviour of C++. An index may lie
// past a declared array, which the checker does not see on a thread's stack or within a larger array. The others are a
// misaligned address, a division by zero, a shift by too many bits, and the end of a function without a `return`. The
// compiler calls only on a mistake, with a description in its own format, and the values as they are. These are not the
// sanitizer's own functions. Part of runtime.cpp.
//
// Not requested are checks that CUDA does not need: conversions of floats saturate, and sums of integers wrap.

namespace {

struct SourcePlace {
    const char* file;
    u32 line;
    u32 column;
};
struct TypeName {
    // 0 is a whole number, and then `info` is whether it has a sign, and the binary logarithm of its bits.
    u16 kind;
    u16 info;
    char text[1];
};
struct OutOfBoundsData {
    SourcePlace place;
    const TypeName* array;
    const TypeName* index;
};
struct ShiftData {
    SourcePlace place;
    const TypeName* left;
    const TypeName* right;
};
struct TypeMismatchData {
    SourcePlace place;
    const TypeName* type;
    u8 log_alignment;
    // 0 is a read, 1 a write, and 2 and up are other uses of the address.
    u8 use;
};

u32 bits_of(const TypeName* type) { return type->kind == 0 ? 1u << (type->info >> 1) : 64; }

// A number as the compiler passes it: itself, or its address if it is wide.
long long number_of(const TypeName* type, u64 value) {
    u32 bits = bits_of(type);
    if (bits > 64) value = *(const u64*)value;
    if (bits < 64 && (type->info & 1)) return (long long)(value << (64 - bits)) >> (64 - bits);
    return (long long)value;
}

// The type's name without quotes and what C++ puts before it.
void copy_name(char* to, size_t size, const TypeName* type) {
    const char* from = type->text;
    if (*from == '\'') from++;
    for (const char* word : {"const ", "volatile ", "struct "}) {
        if (strncmp(from, word, strlen(word)) == 0) from += strlen(word);
    }
    snprintf(to, size, "%s", from);
    if (char* end = strchr(to, '\'')) *end = 0;
}

Detail described(Fiber* fiber, FaultKind kind, const SourcePlace& place) {
    Detail detail = {};
    detail.kind = kind;
    detail.access[0] = USE;
    detail.who[0] = who(fiber);
    detail.column = place.column;
    return detail;
}

// Finds the memory of an address, if it has a name.
void locate(Fiber* fiber, u64 address, Detail* detail) {
    Launch* launch = worker->launch;
    u64 tls = (u64)worker->tls, dynamic = (u64)fiber->owner->dynamic_shared;
    auto set = [&](Space space, u64 start, u64 size) {
        if (address < start || address >= start + size) return;
        detail->space = space;
        detail->start = start;
        detail->offset = address - start;
        detail->size = size;
    };
    set(SHARED, tls, launch->tls_bytes);
    set(DYNAMIC, dynamic, launch->request->dynamic_shared);
    std::lock_guard<std::mutex> guard(allocations_lock);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return;
    --after;
    set(DEVICE, after->first, after->second.bytes);
}

}  // namespace

extern "C" {

EXPORT void __ubsan_handle_out_of_bounds(const OutOfBoundsData* data, u64 index) {
    Fiber* fiber = here();
    Detail detail = described(fiber, OUT_OF_BOUNDS, data->place);
    const char* count = strchr(data->array->text, '[');
    detail.space = ARRAY;
    // How many dimensions the array has that this is an index of.
    for (const char* c = count; c && *c; c++) detail.start += *c == '[';
    detail.offset = (u64)number_of(data->index, index);
    detail.bytes = 1;
    detail.size = count ? strtoul(count + 1, nullptr, 10) : 0;
    explain(fiber->owner->launch, detail);
    fail(fiber, PLACE, 0, "%s uses index %ld of an array of %lu elements at {0}", name(fiber).text, (long)detail.offset,
         (unsigned long)detail.size);
}

EXPORT void __ubsan_handle_type_mismatch_v1(const TypeMismatchData* data, u64 address) {
    Fiber* fiber = here();
    // Not where it is aligned, but what it is in ends before: the accesses elsewhere are looked at on their own.
    if (data->log_alignment == 0) {
        if (address - (u64)fiber->stack < STACK) beside_own(fiber, data->use != 0, PLACE);
        return;
    }
    Detail detail = described(fiber, MISALIGNED, data->place);
    if (data->use <= 1) detail.access[0] = data->use == 0 ? READ : WRITE;
    locate(fiber, address, &detail);
    detail.bytes = 1ull << data->log_alignment;
    copy_name(detail.type, sizeof detail.type, data->type);
    explain(fiber->owner->launch, detail);
    const char* verb = data->use == 0 ? "reads" : data->use == 1 ? "writes" : "uses";
    fail(fiber, PLACE, 0, "%s %s a `%s` at {0} at address 0x%lx, which is no multiple of %lu", name(fiber).text, verb, detail.type,
         (unsigned long)address, (unsigned long)detail.bytes);
}

// Only for zero: the lowest number by -1 is left to the processor, which stops there.
EXPORT void __ubsan_handle_divrem_overflow(const void* data, u64, u64) {
    Fiber* fiber = here();
    explain(fiber->owner->launch, described(fiber, DIVISION, *(const SourcePlace*)data));
    fail(fiber, PLACE, 0, "%s divides a whole number by zero at {0}", name(fiber).text);
}

EXPORT void __ubsan_handle_missing_return(const void*) {
    Fiber* fiber = here();
    fail(fiber, Cause::NO_RETURN, PLACE, 0,
         "%s comes to the end at {0} of a function that gives something, without a `return`", name(fiber).text);
}

EXPORT void __ubsan_handle_shift_out_of_bounds(const ShiftData* data, u64, u64 by) {
    Fiber* fiber = here();
    Detail detail = described(fiber, SHIFT, data->place);
    detail.offset = (u64)number_of(data->right, by);
    detail.size = bits_of(data->left);
    explain(fiber->owner->launch, detail);
    fail(fiber, PLACE, 0, "%s shifts a number of %lu bits by %ld at {0}", name(fiber).text, (unsigned long)detail.size,
         (long)detail.offset);
}

}  // extern "C"
