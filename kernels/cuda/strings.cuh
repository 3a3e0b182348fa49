// Strings: UTF-8 bytes anywhere in device memory. Predicates, positions and slices are computed in place. Computed
// strings (upper case, concatenation) are measured first and then written to their final position.
//
// Layout: bytes are read in aligned words of 8. The memory of a string begins at a multiple of 8 and has a multiple of
// 8 bytes. Strings are valid UTF-8. The caller handles nulls: nothing is read of a null.

struct Text {
    const u8* at;
    i64 length;
    Text() = default;
    __device__ __forceinline__ explicit Text(int) : at(nullptr), length(0) {}
    __device__ __forceinline__ Text(const u8* from, i64 bytes) : at(from), length(bytes) {}
};

// A row of a column: offsets of O into bytes.
template <class O> __device__ __forceinline__ Text text_at(const O* offsets, const u8* bytes, u64 row) {
    O from = offsets[row];
    return Text(bytes + from, (i64)(offsets[row + 1] - from));
}
// A literal: its length, then its bytes.
__device__ __forceinline__ Text text_literal(const void* at) { return Text((const u8*)at + 8, *(const i64*)at); }

// The next bytes of a string, `count` of them from 1 to 8, the first one lowest, zero-padded.
__device__ __forceinline__ u64 text_word(const u8* at, i64 count) {
    u32 skipped = (u32)((u64)at & 7);
    const u64* words = (const u64*)(at - skipped);
    u64 word = words[0] >> (8 * skipped);
    if (skipped + count > 8) word |= words[1] << (64 - 8 * skipped);
    return count < 8 ? word & ((1ull << (8 * count)) - 1) : word;
}
__device__ __forceinline__ i64 word_of(i64 left) { return left < 8 ? left : 8; }
#define EACH_BYTE 0x0101010101010101ull

__device__ __forceinline__ bool same_bytes(const u8* a, const u8* b, i64 length) {
#pragma unroll 1
    for (i64 i = 0; i < length; i += 8) {
        if (text_word(a + i, word_of(length - i)) != text_word(b + i, word_of(length - i))) return false;
    }
    return true;
}
__device__ __forceinline__ bool text_equal(const Text& a, const Text& b) {
    return a.length == b.length && same_bytes(a.at, b.at, a.length);
}
// Negative, zero or positive, in the order of bytes, which is that of code points.
__device__ __forceinline__ i32 text_compare(const Text& a, const Text& b) {
    i64 length = smaller(a.length, b.length);
#pragma unroll 1
    for (i64 i = 0; i < length; i += 8) {
        u64 x = text_word(a.at + i, word_of(length - i)), y = text_word(b.at + i, word_of(length - i));
        if (x != y) {
            u32 by = (u32)(__ffsll((long long)(x ^ y)) - 1) & ~7u;
            return (x >> by & 0xff) < (y >> by & 0xff) ? -1 : 1;
        }
    }
    return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
}
__device__ __forceinline__ bool text_starts(const Text& text, const Text& with) {
    return text.length >= with.length && same_bytes(text.at, with.at, with.length);
}
__device__ __forceinline__ bool text_ends(const Text& text, const Text& with) {
    return text.length >= with.length && same_bytes(text.at + (text.length - with.length), with.at, with.length);
}

// The byte offset of a substring, searched from `from` on; -1 if there is none. A window of 8 bytes slides along.
__device__ __forceinline__ i64 text_find(const Text& text, const Text& what, i64 from) {
    if (what.length == 0) return from <= text.length ? from : -1;
    i64 last = text.length - what.length;
    if (from > last) return -1;
    i64 head = word_of(what.length);
    u64 wanted = text_word(what.at, head), mask = head < 8 ? (1ull << (8 * head)) - 1 : ~0ull;
    u64 window = text_word(text.at + from, word_of(text.length - from)), ahead = 0;
#pragma unroll 1
    for (i64 at = from, left = 0; at <= last; at++) {
        if ((window & mask) == wanted && (head == what.length || same_bytes(text.at + at + 8, what.at + 8, what.length - 8))) return at;
        if (left == 0) {
            i64 next = at + 8;
            ahead = next < text.length ? text_word(text.at + next, word_of(text.length - next)) : 0;
            left = 8;
        }
        window = window >> 8 | ahead << 56;
        ahead >>= 8;
        left--;
    }
    return -1;
}
__device__ __forceinline__ bool text_contains(const Text& text, const Text& what) { return text_find(text, what, 0) >= 0; }

// Continuation bytes of a word.
__device__ __forceinline__ u32 continuations(u64 word) { return (u32)__popcll(word >> 7 & ~word >> 6 & EACH_BYTE); }
__device__ __forceinline__ bool goes_on(u8 byte) { return (byte & 0xc0) == 0x80; }
__device__ __forceinline__ i64 text_chars(const Text& text) {
    i64 chars = text.length;
#pragma unroll 1
    for (i64 i = 0; i < text.length; i += 8) chars -= continuations(text_word(text.at + i, word_of(text.length - i)));
    return chars;
}
// The byte offset of character `chars`, counted from 0; the end of the string if it has fewer.
__device__ __forceinline__ i64 text_skip(const Text& text, i64 chars) {
    i64 at = 0;
#pragma unroll 1
    while (at + 8 <= text.length) {
        i64 here = 8 - continuations(text_word(text.at + at, 8));
        if (here > chars) break;
        chars -= here;
        at += 8;
    }
    // The word may have ended within a character.
#pragma unroll 1
    for (; at < text.length; at++) {
        if (!goes_on(text.at[at]) && chars-- <= 0) break;
    }
    return at;
}
__device__ __forceinline__ Text text_from(const Text& text, i64 from) { return Text(text.at + from, text.length - from); }

// Characters from `start` on, at most `count` of them. Positions before the string count towards `count`.
__device__ __forceinline__ Text text_slice(const Text& text, i64 start, i64 count) {
    if (count <= 0) return Text(text.at, 0);
    if (start < 0) {
        count += start;
        start = 0;
        if (count <= 0) return Text(text.at, 0);
    }
    Text rest = text_from(text, start < text.length ? text_skip(text, start) : text.length);
    return count < rest.length ? Text(rest.at, text_skip(rest, count)) : rest;
}
// Substring of SQL: counts from 1.
__device__ __forceinline__ Text text_substring(const Text& text, i64 start, i64 count) {
    // A start so negative that one less would wrap leaves nothing, whatever the count.
    return text_slice(text, start == Limits<i64>::low() ? start : start - 1, count);
}
__device__ __forceinline__ Text text_substring(const Text& text, i64 start) {
    return start <= 1 ? text : text_from(text, text_skip(text, start - 1));
}
// Counts from the end if the start is negative.
__device__ __forceinline__ Text text_slice_signed(const Text& text, i64 start, i64 count) {
    return text_slice(text, start < 0 ? start + text_chars(text) : start, count);
}
// The first characters, or all but so many of the last ones.
__device__ __forceinline__ Text text_left(const Text& text, i64 count) {
    return text_slice(text, 0, count < 0 ? count + text_chars(text) : count);
}
__device__ __forceinline__ Text text_right(const Text& text, i64 count) {
    if (count == Limits<i64>::low()) return Text(text.at, 0);
    i64 start = count < 0 ? -count : larger(text_chars(text) - count, (i64)0);
    return text_slice(text, start, Limits<i64>::high());
}
// The character position of a substring, from 1 on; 0 if there is none.
__device__ __forceinline__ i64 text_position(const Text& text, const Text& what) {
    i64 at = text_find(text, what, 0);
    return at < 0 ? 0 : 1 + text_chars(Text(text.at, at));
}
// split_part: field `number` of a split, from 1 on or from the end; the empty string if there is none. `by` is not
// empty.
__device__ __forceinline__ Text text_part(const Text& text, const Text& by, i64 number) {
    if (number < 0) {
        i64 parts = 1;
#pragma unroll 1
        for (i64 at = text_find(text, by, 0); at >= 0; at = text_find(text, by, at + by.length)) parts++;
        number += parts + 1;
    }
    i64 from = 0;
#pragma unroll 1
    for (i64 part = 1; number >= 1; part++) {
        i64 at = text_find(text, by, from);
        if (part == number) return Text(text.at + from, (at < 0 ? text.length : at) - from);
        if (at < 0) break;
        from = at + by.length;
    }
    return Text(text.at, 0);
}

// ---- single characters ----
// The character at `at`, whose bytes it skips.
__device__ __forceinline__ u32 next_char(const u8* text, i64& at) {
    u32 first = text[at++];
    if (first < 0x80) return first;
    u32 more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    u32 code = first & (0x3fu >> more);
    for (; more > 0; more--) code = code << 6 | (text[at++] & 0x3fu);
    return code;
}
__device__ __forceinline__ u32 char_bytes(u32 code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }
__device__ __forceinline__ u8* put_char(u8* to, u32 code) {
    u32 bytes = char_bytes(code);
    if (bytes == 1) *to++ = (u8)code;
    else {
        *to++ = (u8)((0xf00u >> bytes & 0xf0) | code >> (6 * (bytes - 1)));
        for (u32 i = bytes - 1; i > 0; i--) *to++ = (u8)(0x80 | (code >> (6 * (i - 1)) & 0x3f));
    }
    return to;
}
// Unicode's White_Space.
__device__ __forceinline__ bool is_space(u32 code) {
    return (code >= 9 && code <= 13) || code == 32 || code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}
// A set of characters: a bit for each ASCII character, then whether all white space is in it.
__device__ __forceinline__ bool in_set(const u64* set, u32 code) {
    return (code < 128 && (set[code / 64] >> (code % 64) & 1) != 0) || (set[2] != 0 && is_space(code));
}
template <bool START, bool END> __device__ __forceinline__ Text text_trim(const Text& text, const u64* set) {
    i64 from = 0, end = text.length;
#pragma unroll 1
    while (START && from < end) {
        i64 next = from;
        if (!in_set(set, next_char(text.at, next))) break;
        from = next;
    }
#pragma unroll 1
    while (END && from < end) {
        i64 start = end - 1;
        while (goes_on(text.at[start])) start--;
        i64 next = start;
        if (!in_set(set, next_char(text.at, next))) break;
        end = start;
    }
    return Text(text.at + from, end - from);
}

// ---- patterns: a deterministic automaton over bytes ----
// Its header has the number of byte classes and the start state. Then come the class of each byte, the next state of
// each state and class, and whether a string that ends in a state matches. State 0 is dead, state 1 matches for
// certain.
__device__ __forceinline__ bool text_matches(const Text& text, const void* automaton) {
    const u32* head = (const u32*)automaton;
    u32 classes = head[0], states = head[2], state = head[1];
    const u8* class_of = (const u8*)(head + 4);
    const u16* next = (const u16*)(class_of + 256);
    const u8* ends = (const u8*)(next + states * classes);
#pragma unroll 1
    for (i64 i = 0; i < text.length && state > 1; i += 8) {
        i64 count = word_of(text.length - i);
        u64 word = text_word(text.at + i, count);
#pragma unroll 1
        for (; count > 0; count--, word >>= 8) state = next[state * classes + class_of[word & 0xff]];
    }
    return ends[state] != 0;
}
// Counts non-overlapping matches. After the classes are the start states of a search by the byte before it, the one for
// the start of the string last. For each state the first bit says that there was a match before its last byte. The
// second bit says that there is one at the end of the string. If an empty match would touch the match before it, the
// search continues one character later, as in `regex`.
__device__ __forceinline__ u32 text_matches_count(const Text& text, const void* automaton) {
    const u32* head = (const u32*)automaton;
    u32 classes = head[0], states = head[2], count = 0;
    const u8* class_of = (const u8*)(head + 4);
    const u16* begins = (const u16*)(class_of + 256);
    const u16* next = begins + 257;
    const u8* ends = (const u8*)(next + states * classes);
    i64 at = 0, last = -1;
#pragma unroll 1
    while (at <= text.length) {
        u32 state = begins[at == 0 ? 256u : (u32)text.at[at - 1]];
        i64 end = -1, i = at;
#pragma unroll 1
        for (; i < text.length && state != 0; i++) {
            state = next[state * classes + class_of[text.at[i]]];
            if ((ends[state] & 1) != 0) end = i;
        }
        if (i == text.length && (ends[state] & 2) != 0) end = i;
        if (end < 0) break;
        if (end == last) {
            do at++; while (at < text.length && goes_on(text.at[at]));
            continue;
        }
        count++;
        at = last = end;
    }
    return count;
}

// ---- numbers ----
__device__ __forceinline__ bool is_blank(u8 byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r'; }
// Decimal digits with an optional sign and ASCII blanks around them; whether the number fits into T. As parsed by
// Arrow.
template <class T> __device__ __forceinline__ bool text_number(Text text, T& value) {
    while (text.length > 0 && is_blank(text.at[text.length - 1])) text.length--;
    while (text.length > 0 && is_blank(text.at[0])) text = Text(text.at + 1, text.length - 1);
    bool negative = text.length > 0 && text.at[0] == '-';
    i64 i = text.length > 0 && (negative || text.at[0] == '+') ? 1 : 0;
    value = 0;
    if (i == text.length) return false;
#pragma unroll 1
    for (; i < text.length; i++) {
        u32 digit = (u32)text.at[i] - '0';
        if (digit > 9) return false;
        T last = negative ? (T)(0 - (T)digit) : (T)digit;
        if (times_overflows<T>(value, (T)10)) return false;
        T ten = times<T>(value, (T)10);
        if (negative ? (Limits<T>::low() == 0 && digit > 0) || plus_overflows<T>(ten, last) : plus_overflows<T>(ten, last)) return false;
        value = plus<T>(ten, last);
    }
    return true;
}
template <class T> __device__ __forceinline__ u64 magnitude_of(T x) { return x < 0 ? (u64)0 - (u64)(i64)x : (u64)x; }
template <class T> __device__ __forceinline__ u32 number_length(T x) {
    u32 length = x < 0 ? 2 : 1;
    for (u64 left = magnitude_of<T>(x); left >= 10; left /= 10) length++;
    return length;
}
template <class T> __device__ __forceinline__ u8* put_number(u8* to, T x) {
    u32 length = number_length<T>(x);
    u64 left = magnitude_of<T>(x);
    for (u32 i = length; i > (x < 0 ? 1u : 0u); i--, left /= 10) to[i - 1] = (u8)('0' + left % 10);
    if (x < 0) to[0] = '-';
    return to + length;
}

// ---- computed strings: their length and their bytes ----
__device__ __forceinline__ u8* put_text(u8* to, const Text& text) {
#pragma unroll 1
    for (i64 i = 0; i < text.length; i += 8) {
        i64 count = word_of(text.length - i);
        u64 word = text_word(text.at + i, count);
        for (; count > 0; count--, word >>= 8) *to++ = (u8)word;
    }
    return to;
}
// All lanes of a warp write long strings together, one string after another. All lanes of a warp call it.
__device__ __forceinline__ void put_texts(u8* to, const Text& text) {
    bool is_long = text.length > 48;
    u32 several = __ballot_sync(ALL_LANES, is_long);
    if (!is_long) put_text(to, text);
#pragma unroll 1
    for (; several != 0; several &= several - 1) {
        u32 lane = (u32)__ffs((int)several) - 1;
        u64 from = __shfl_sync(ALL_LANES, (u64)text.at, lane), target = __shfl_sync(ALL_LANES, (u64)to, lane);
        i64 length = __shfl_sync(ALL_LANES, text.length, lane);
#pragma unroll 1
        for (i64 i = lane_id(); i < length; i += WARP) ((u8*)target)[i] = ((const u8*)from)[i];
    }
}

// A staging buffer in which a warp assembles the strings of its rows, which are contiguous from `from` to `end` in
// memory. They are then written in whole words. Strings that do not fit are written directly. All lanes of a warp call
// every method except `place`.
struct Stage {
    u8* stage;
    u8* memory;
    u64 from, end;
    u32 room;
    // The staging buffer begins at a multiple of 8 bytes, like memory; so do its writes.
    __device__ __forceinline__ Stage(u8* to, u32 bytes, u8* target, u64 first, u64 last)
        : stage(to), memory(target), from(first), end(last), room(bytes) {}
    __device__ __forceinline__ bool is_used() const { return end - (from & ~7ull) <= room; }
    __device__ __forceinline__ u8* place(u64 offset) const { return is_used() ? stage + (offset - (from & ~7ull)) : memory + offset; }
    __device__ __forceinline__ void write() const {
        if (!is_used()) return;
        u64 start = from & ~7ull;
        __syncwarp();
#pragma unroll 1
        for (u64 at = start + 8 * lane_id(); at < end; at += 8 * WARP) {
            if (at >= from && at + 8 <= end) {
                *(u64*)(memory + at) = *(const u64*)(stage + (at - start));
                continue;
            }
            // Another warp writes the rest of the first and the last word.
            for (u64 i = larger(at, from); i < smaller(at + 8, end); i++) memory[i] = stage[i - start];
        }
        // The next strings use the same buffer.
        __syncwarp();
    }
};

// Upper or lower case: a table of all characters up to the last one with another case. An entry is a character, or the
// offset of three characters after the table, zero-padded. Or it says that the case depends on the neighbours, which is
// a row error.
enum : u32 { CASE_SEVERAL = 0x80000000u, CASE_DEPENDS = ~0u };
__device__ __forceinline__ u64 ascii_case(u64 word, bool upper) {
    // The highest bit of each byte: whether it is a letter of the other case.
    u64 first = upper ? 'a' : 'A', last = upper ? 'z' : 'Z';
    u64 letter = (word + EACH_BYTE * (128 - first)) & ~(word + EACH_BYTE * (127 - last)) & EACH_BYTE * 128;
    return word ^ letter >> 2;
}
__device__ __forceinline__ i64 case_length(const Text& text, const u32* table, u32& depends) {
    u32 characters = table[0];
    i64 length = 0;
#pragma unroll 1
    for (i64 i = 0; i < text.length;) {
        i64 count = word_of(text.length - i);
        if ((text_word(text.at + i, count) & EACH_BYTE * 128) == 0) {
            length += count;
            i += count;
            continue;
        }
        u32 code = next_char(text.at, i);
        u32 entry = code < characters ? table[2 + code] : code;
        if (entry == CASE_DEPENDS) depends = 1;
        else if ((entry & CASE_SEVERAL) != 0) {
            const u32* several = table + 2 + characters + 3 * (entry & ~CASE_SEVERAL);
            for (u32 k = 0; k < 3; k++) length += several[k] == 0 ? 0 : char_bytes(several[k]);
        } else length += char_bytes(entry);
    }
    return length;
}
__device__ __forceinline__ u8* put_case(u8* to, const Text& text, const u32* table) {
    u32 characters = table[0];
    bool upper = table[1] != 0;
#pragma unroll 1
    for (i64 i = 0; i < text.length;) {
        i64 count = word_of(text.length - i);
        u64 word = text_word(text.at + i, count);
        if ((word & EACH_BYTE * 128) == 0) {
            word = ascii_case(word, upper);
            i += count;
            for (; count > 0; count--, word >>= 8) *to++ = (u8)word;
            continue;
        }
        u32 code = next_char(text.at, i);
        u32 entry = code < characters ? table[2 + code] : code;
        if ((entry & CASE_SEVERAL) != 0) {
            const u32* several = table + 2 + characters + 3 * (entry & ~CASE_SEVERAL);
            for (u32 k = 0; k < 3 && entry != CASE_DEPENDS; k++) {
                if (several[k] != 0) to = put_char(to, several[k]);
            }
        } else to = put_char(to, entry);
    }
    return to;
}

// Replaces each occurrence of a string, which is not empty.
__device__ __forceinline__ i64 replace_length(const Text& text, const Text& what, const Text& with) {
    i64 length = text.length;
#pragma unroll 1
    for (i64 at = text_find(text, what, 0); at >= 0; at = text_find(text, what, at + what.length)) length += with.length - what.length;
    return length;
}
__device__ __forceinline__ u8* put_replaced(u8* to, const Text& text, const Text& what, const Text& with) {
    i64 from = 0;
#pragma unroll 1
    for (i64 at = text_find(text, what, 0); at >= 0; at = text_find(text, what, from)) {
        to = put_text(to, Text(text.at + from, at - from));
        to = put_text(to, with);
        from = at + what.length;
    }
    return put_text(to, text_from(text, from));
}
__device__ __forceinline__ u8* put_reversed(u8* to, const Text& text) {
    u8* at = to + text.length;
#pragma unroll 1
    for (i64 i = 0; i < text.length;) {
        u8 first = text.at[i];
        i64 bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        at -= bytes;
        for (i64 k = 0; k < bytes; k++) at[k] = text.at[i + k];
        i += bytes;
    }
    return to + text.length;
}
// A result longer than a string on the host can be is a row error.
enum : i64 { LONGEST_TEXT = 0x7fffffff };
__device__ __forceinline__ i64 repeat_length(const Text& text, i64 count, u32& fault) {
    if (count <= 0 || text.length == 0) return 0;
    if (count > LONGEST_TEXT / text.length) fault = 1;
    return fault != 0 ? 0 : text.length * count;
}
__device__ __forceinline__ u8* put_repeated(u8* to, const Text& text, i64 count) {
#pragma unroll 1
    for (; count > 0 && text.length > 0; count--) to = put_text(to, text);
    return to;
}
// lpad and rpad: so many characters, padded with another string; without one the string stays as it is.
__device__ __forceinline__ i64 pad_length(const Text& text, i64 chars, const Text& with, u32& fault) {
    if (chars > LONGEST_TEXT) fault = 1;
    if (chars <= 0 || fault != 0) return 0;
    i64 missing = chars - text_chars(text), each = text_chars(with);
    if (missing < 0) return text_skip(text, chars);
    if (each == 0) return text.length;
    i64 length = text.length + missing / each * with.length + text_skip(with, missing % each);
    if (length > LONGEST_TEXT) fault = 1;
    return length;
}
template <bool LEFT> __device__ __forceinline__ u8* put_padded(u8* to, const Text& text, i64 chars, const Text& with) {
    if (chars <= 0) return to;
    i64 missing = chars - text_chars(text), each = text_chars(with);
    if (missing < 0) return put_text(to, Text(text.at, text_skip(text, chars)));
    if (!LEFT) to = put_text(to, text);
    if (each > 0) {
        to = put_repeated(to, with, missing / each);
        to = put_text(to, Text(with.at, text_skip(with, missing % each)));
    }
    return LEFT ? put_text(to, text) : to;
}
