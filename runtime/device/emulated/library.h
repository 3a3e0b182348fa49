// Library functions of kernels: `printf` and a heap. The values of `printf` come with their kinds, so that a format
// that does not fit them is a fault. Part of runtime.cpp.

namespace {

// As CUDA's default.
const u64 HEAP = 8 << 20;
// Bytes around a piece that belong to nobody.
const u64 BESIDE = 64;
// The widest padding of printf.
const u64 WIDEST = 4096;
std::mutex heap_lock;
char* heap_start = nullptr;
Heap heap;

Heap copy_of_heap() {
    Heap copy = heap;
    copy.contents.assign(heap_start, heap_start + (heap_start ? heap.used : 0));
    return copy;
}

// As it is before a launch's first `malloc` or `free`, for a trial.
void note_heap() {
    Launch* launch = worker->launch;
    if (launch->request->strict && !launch->heap) launch->heap.reset(new Heap(copy_of_heap()));
}

void put_heap(const Heap& other) {
    for (const auto& piece : heap.held) {
        auto found = other.held.find(piece.first);
        if (found == other.held.end() || found->second.bytes != piece.second.bytes) forget(piece.first);
    }
    for (const auto& piece : other.held) {
        auto found = heap.held.find(piece.first);
        // Who knows which parts of it were written.
        if (found == heap.held.end() || found->second.bytes != piece.second.bytes) know(piece.first, piece.second.bytes, false);
    }
    if (!other.contents.empty()) memcpy(heap_start, other.contents.data(), other.contents.size());
    heap = other;
    heap.contents.clear();
}

// Whether a text that a kernel prints is one, as far as it is looked at.
bool is_text(const char* text) {
    u64 address = (u64)text;
    if (is_code(worker->launch, address)) return true;
    Fiber* fiber = here();
    u64 stack = (u64)fiber->stack, dynamic = (u64)fiber->owner->dynamic_shared, tls = (u64)worker->tls;
    if (address - stack < STACK || address - dynamic < worker->launch->request->dynamic_shared) return true;
    if (address - tls < worker->launch->tls_bytes) return true;
    std::lock_guard<std::mutex> guard(allocations_lock);
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return false;
    --after;
    return address < after->first + after->second.bytes && memchr(text, 0, after->first + after->second.bytes - address) != nullptr;
}

template <class... A> void append(std::string* out, const std::string& format, A... values) {
    char small[512];
    int length = snprintf(small, sizeof small, format.c_str(), values...);
    if (length < (int)sizeof small) {
        out->append(small, length < 0 ? 0 : (size_t)length);
        return;
    }
    std::string large((size_t)length + 1, 0);
    snprintf(&large[0], large.size(), format.c_str(), values...);
    out->append(large.c_str());
}

const char* kind_name(const OnrushPrinted& value) {
    return value.kind == ONRUSH_FLOAT ? "a float" : value.kind == ONRUSH_POINTER ? "an address" : value.bytes == 8 ? "a number of 64 bits" : "a number of 32 bits";
}

// Formats values to `out`. Mistakes in the format or the values go to `wrong`.
void formatted(const char* format, u32 count, const OnrushPrinted* values, std::string* out, std::string* wrong) {
    u32 next = 0, wanted = 0;
    for (const char* c = format; *c;) {
        if (*c != '%') {
            const char* end = strchr(c, '%');
            out->append(c, end ? (size_t)(end - c) : strlen(c));
            c = end ? end : c + strlen(c);
            continue;
        }
        if (c[1] == '%') {
            out->push_back('%');
            c += 2;
            continue;
        }
        const char* start = c++;
        std::string head = "%";
        bool is_long = false;
        while (*c && strchr("-+ #0123456789.*hlLqjzt", *c)) {
            if (*c == '*') {
                wanted++;
                int width = next < count && values[next].kind == ONRUSH_WHOLE ? (int)values[next].bits : 0;
                const int widest = (int)WIDEST;
                head += std::to_string(width > widest ? widest : width < -widest ? -widest : width);
                next++;
            } else if (strchr("hlLqjzt", *c)) {
                is_long = is_long || strchr("lqjzt", *c);
            } else if (*c >= '1' && *c <= '9') {
                // A larger width is of no use, and would fill the memory.
                u64 width = strtoul(c, (char**)&c, 10);
                head += std::to_string(width < WIDEST ? width : WIDEST);
                continue;
            } else {
                head.push_back(*c);
            }
            c++;
        }
        if (!*c) {
            out->append(start);
            break;
        }
        char conversion = *c++;
        std::string written(start, (size_t)(c - start));
        bool whole = strchr("diuxXoc", conversion), real = strchr("fFeEgGaA", conversion), pointer = strchr("sp", conversion);
        if (!whole && !real && !pointer) {
            // A GPU prints it as it stands.
            out->append(written);
            continue;
        }
        wanted++;
        if (next >= count) continue;
        const OnrushPrinted& value = values[next++];
        bool fits = whole ? value.kind == ONRUSH_WHOLE : real ? value.kind == ONRUSH_FLOAT : value.kind == ONRUSH_POINTER;
        // A half of it is right if it is small, the last (others would begin in its other half), and right behind those
        // before it.
        bool is_small = (long long)value.bits == (int)value.bits || value.bits == (u32)value.bits;
        u32 bytes = 0;
        for (u32 before = 0; before + 1 < next; before++) bytes = values[before].bytes == 8 ? (bytes + 7) / 8 * 8 + 8 : bytes + 4;
        bool has_half = whole && !is_long && value.bytes == 8 && (!is_small || next < count || bytes % 8);
        if (fits && whole && is_long && value.bytes < 8) fits = false;
        if (!fits || has_half) {
            if (wrong->empty()) {
                const char* what = real ? "a float" : pointer ? (conversion == 's' ? "a text" : "an address") : is_long ? "a number of 64 bits" : "a number of 32 bits";
                *wrong = "`" + written + "` in the format of printf prints " + what + ", and is given " + kind_name(value);
            }
            continue;
        }
        if (real) {
            double number;
            memcpy(&number, &value.bits, 8);
            append(out, head + conversion, number);
        } else if (conversion == 'c') {
            append(out, head + conversion, (int)value.bits);
        } else if (whole) {
            bool is_signed = conversion == 'd' || conversion == 'i';
            unsigned long long number = is_long ? value.bits : is_signed ? (u64)(long long)(int)value.bits : (u64)(u32)value.bits;
            append(out, head + "ll" + conversion, number);
        } else if (conversion == 'p') {
            append(out, head + conversion, (void*)value.bits);
        } else if (value.bits == 0) {
            out->append("(null)");
        } else if (!is_text((const char*)value.bits)) {
            if (wrong->empty()) *wrong = "`" + written + "` in the format of printf prints a text, and is given an address where none is";
        } else {
            append(out, head + conversion, (const char*)value.bits);
        }
    }
    if (wanted > count && wrong->empty()) {
        *wrong = "the format of printf wants " + std::to_string(wanted) + (wanted == 1 ? " value" : " values") + ", and is given " + std::to_string(count);
    }
}

}  // namespace

extern "C" {

EXPORT int onrush_print(const char* format, unsigned int count, const OnrushPrinted* values) {
    Fiber* fiber = here();
    char said[200] = "";
    if (!is_text(format)) {
        snprintf(said, sizeof said, "its format is no text");
    } else {
        std::string out, wrong;
        formatted(format, count, values, &out, &wrong);
        if (wrong.empty()) fwrite(out.data(), 1, out.size(), stdout);
        else snprintf(said, sizeof said, "%s", wrong.c_str());
    }
    // Nothing of this frame is left to be destroyed: a thread that fails never comes back to it.
    if (said[0]) fail(fiber, Cause::PRINTF, PLACE, 0, "%s calls printf at {0}: %s", name(fiber).text, said);
    return (int)count;
}

EXPORT void onrush_mark(void* to, size_t bytes) {
    // Behind a macro it may be the block's.
    if ((u64)to - (u64)here()->stack >= STACK) return;
    for (u64 at = (u64)to; at < (u64)to + bytes; at++) *(u8*)at = (u8)(UNSET >> at % 4 * 8);
}

// A value that nobody has given, and if the kernel does otherwise with another one, it is told: see initcheck.h.
EXPORT unsigned long long onrush_nobodys(const char* variable) {
    Fiber* fiber = here();
    Launch* launch = worker->launch;
    u64 number = ++launch->absent;
    launch->unset = true;
    if (number == launch->changed) {
        launch->absent_place = PLACE;
        launch->absence_cause = Cause::UNSET_VARIABLE;
        snprintf(launch->absence, sizeof launch->absence, "%s uses `%.40s`, to which it has given no value after its declaration",
                 name(fiber).text, variable);
    }
    // A large negative number; none; and a large one as a float, and as a whole number one that loops can count to.
    const u64 usual = 0xfefefefefefefefeull, others[2] = {0, 0x47c3500047c35000ull};
    return number <= launch->changed ? others[launch->other] : usual;
}

// Null where the heap is full, as on a GPU.
EXPORT void* onrush_malloc(size_t bytes) {
    u64 rounded = (bytes + 15 + BESIDE) & ~15ull, address = 0;
    if (bytes > HEAP) return nullptr;
    {
        std::lock_guard<std::mutex> guard(heap_lock);
        note_heap();
        if (heap_start == nullptr) {
            // Nobody's memory lies around it: an address there is not taken for a piece's neighbour.
            char* start = (char*)mmap(nullptr, HEAP + 2 * STRICT_MARGIN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (start == (char*)MAP_FAILED) return nullptr;
            heap_start = start + STRICT_MARGIN;
            mprotect(heap_start, HEAP, PROT_READ | PROT_WRITE);
        }
        if (heap.used + rounded <= HEAP) {
            address = (u64)heap_start + heap.used + BESIDE / 2;
            heap.used += rounded;
        } else {
            // Late, so that what is used after it was freed is seen.
            auto found = heap.free.lower_bound(rounded);
            if (found == heap.free.end()) return nullptr;
            rounded = found->first;
            address = found->second;
            heap.free.erase(found);
        }
        heap.held[address] = Held{rounded, bytes};
    }
    memset((void*)address, 0xa5, bytes);
    if (worker->launch->request->checked) know(address, bytes, true);
    return (void*)address;
}

EXPORT void onrush_free(void* memory, void* from) {
    if (memory == nullptr) return;
    const u64 address = (u64)memory;
    {
        std::lock_guard<std::mutex> guard(heap_lock);
        note_heap();
        auto found = heap.held.find((u64)memory);
        if (found != heap.held.end()) {
            heap.free.insert({found->second.rounded, found->first});
            heap.held.erase(found);
            memory = nullptr;
        }
    }
    if (memory == nullptr) {
        if (worker->launch->request->checked) forget(address);
    } else {
        Fiber* fiber = here();
        fail(fiber, Cause::BAD_FREE, from ? (u64)from : PLACE, 0,
             "%s frees at {0} what `malloc` and `new` have not given, or what was freed before",
             name(fiber).text);
    }
}

}  // extern "C"
