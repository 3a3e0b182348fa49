// Detects whether a kernel depends on undefined values. Sources are shuffles from lanes that take no part, and
// variables declared without a value. Reading such a value is not a mistake (the upper half of a sum by
// `__shfl_down_sync` does), using it is one. So a launch that has read some runs again with others in their place, on
// memory as it was before. If it writes, prints or fails otherwise, it depends on them. A run with other values for the
// first ones only finds the value that matters. A launch runs the same way each time, because it runs on one core and
// schedules by the same numbers. A launch that looks at the clock does not, and is not judged. Part of runtime.cpp.

namespace {

// The outcome of a launch.
struct Outcome {
    u32 status;
    char text[1000];
    // Device memory that is not as it was before, by address, and the heap if the launch has changed it.
    std::deque<Piece> after;
    std::unique_ptr<Heap> heap;
    u64 printed;
    bool operator==(const Outcome& other) const {
        if (status != other.status || printed != other.printed || strcmp(text, other.text) != 0) return false;
        // A launch that failed has left some threads in the midst of something.
        if (status != 0) return true;
        if (after.size() != other.after.size()) return false;
        for (size_t i = 0; i < after.size(); i++) {
            const Piece &a = after[i], &b = other.after[i];
            if (a.address != b.address || a.bytes != b.bytes || memcmp(a.contents, b.contents, a.bytes) != 0) return false;
        }
        return true;
    }
};

// The output of a launch: a hash of its bytes, and their destination if there is one.
struct Printing {
    FILE* to;
    u64 sum = 14695981039346656037ull;
};
ssize_t take_printed(void* cookie, const char* text, size_t bytes) {
    Printing* printing = (Printing*)cookie;
    // FNV-1a.
    for (size_t i = 0; i < bytes; i++) printing->sum = (printing->sum ^ (u8)text[i]) * 1099511628211ull;
    if (printing->to) fwrite(text, 1, bytes, printing->to);
    return (ssize_t)bytes;
}

Outcome run_once(Launch* launch, const Request* request, Answer* answer, bool prints) {
    FILE* usual = stdout;
    Printing printing{prints ? usual : nullptr};
    cookie_io_functions_t functions = {nullptr, take_printed, nullptr, nullptr};
    FILE* stream = fopencookie(&printing, "w", functions);
    if (stream) stdout = stream;
    run_launch(launch, request, answer);
    stdout = usual;
    if (stream) fclose(stream);
    Outcome outcome;
    outcome.status = answer->status;
    memcpy(outcome.text, answer->text, sizeof outcome.text);
    outcome.printed = printing.sum;
    // Nobody will ask.
    if (prints && launch->absent == 0) return outcome;
    std::lock_guard<std::mutex> guard(allocations_lock);
    for (const Piece& piece : launch->before) {
        // Freed memory belongs to nobody.
        auto owner = allocations.upper_bound(piece.address);
        bool in_heap = heap_start && piece.address - (u64)heap_start < HEAP;
        if (in_heap && (owner == allocations.begin() || (--owner, piece.address >= owner->first + owner->second.bytes))) continue;
        if (memcmp(piece.contents, (const void*)piece.address, piece.bytes) == 0) continue;
        outcome.after.push_back(piece);
        memcpy(outcome.after.back().contents, (const void*)piece.address, piece.bytes);
    }
    std::sort(outcome.after.begin(), outcome.after.end(), [](const Piece& a, const Piece& b) { return a.address < b.address; });
    if (launch->heap) outcome.heap.reset(new Heap(copy_of_heap()));
    return outcome;
}

void put(const Piece& piece) { memcpy((void*)piece.address, piece.contents, piece.bytes); }

// Memory is as it was before the launch.
void undo(const Launch& launch) {
    if (launch.heap) put_heap(*launch.heap);
    // The first ones last: a piece of the heap that was used twice is as it was at first.
    for (auto piece = launch.before.rbegin(); piece != launch.before.rend(); ++piece) put(*piece);
}

void redo(const Outcome& outcome) {
    for (const Piece& piece : outcome.after) put(piece);
    if (outcome.heap) put_heap(*outcome.heap);
}

int launch_and_try(const Request* request, Answer* answer) {
    Launch first;
    Outcome usual = run_once(&first, request, answer, true);
    if (first.absent == 0) return (int)answer->status;
    Answer other;
    Launch last;
    u32 other_ones = 0;
    auto differs = [&](u64 changed) {
        Launch again;
        again.changed = changed;
        again.other = other_ones;
        // One that never ends depends on them, too.
        again.most_accesses = first.accesses * 4 + 100000;
        bool same = run_once(&again, request, &other, false) == usual;
        undo(again);
        if (!same && changed != 0) {
            last.absent_place = again.absent_place;
            memcpy(last.absence, again.absence, sizeof last.absence);
            last.absence_cause = again.absence_cause;
        }
        return !same;
    };
    undo(first);
    bool depends = differs(NEVER);
    if (!depends && first.unset) {
        // The largest of some numbers is the same with a variable that is small and with one that is none.
        other_ones = 1;
        depends = differs(NEVER);
    }
    depends = depends && !differs(0);
    redo(usual);
    if (!depends) return (int)answer->status;
    undo(first);
    // The smallest number of others that makes a difference: the last of them does. Most often it is among the first.
    u64 same = 0, different = 1;
    while (different < first.absent && !differs(different)) {
        same = different;
        different *= 2;
    }
    if (different > first.absent) different = first.absent;
    double begun = seconds();
    while (different - same > 1 && seconds() - begun < 10) {
        u64 middle = same + (different - same) / 2;
        (differs(middle) ? different : same) = middle;
    }
    differs(different);
    redo(usual);
    Worker state;
    Launch told;
    told.request = request;
    told.answer = answer;
    state.launch = &told;
    worker = &state;
    answer->detail = Detail{};
    fail(nullptr, last.absence_cause, last.absent_place, 0,
         "%s at {0}: that value is undefined, and what the kernel does depends on it", last.absence);
    worker = nullptr;
    return 1;
}

}  // namespace
