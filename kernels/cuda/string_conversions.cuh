// Parsing of numbers, dates and timestamps from strings, and formatting as strings, in the formats of Arrow.
//
// The result of a parse: NO_VALUE, A_VALUE, or UNSURE for rare formats that only the host parses. Floats are exact: a
// number of 53 bits times a power of ten up to 22 (Clinger, "How to read floating point numbers accurately", 1990). The
// host parses the others. Deterministic.

enum TextValue : u32 { NO_VALUE, A_VALUE, UNSURE };

__device__ __forceinline__ Text without_blanks(Text text) {
    while (text.length > 0 && is_blank(text.at[text.length - 1])) text.length--;
    while (text.length > 0 && is_blank(text.at[0])) text = Text(text.at + 1, text.length - 1);
    return text;
}
__device__ __forceinline__ bool is_digit(u8 byte) { return (u8)(byte - '0') < 10; }

__device__ __forceinline__ f64 power_of_ten(u32 exponent) {
    f64 power = 1;
    for (u32 i = 0; i < exponent; i++) power *= 10;
    return power;
}
// Digits with an optional point and exponent.
__device__ __forceinline__ u32 text_value(Text text, f64& value) {
    text = without_blanks(text);
    value = 0;
    if (text.length == 0) return NO_VALUE;
    i64 i = 0;
    bool negative = text.at[0] == '-';
    if (negative || text.at[0] == '+') i++;
    if (i == text.length) return NO_VALUE;
    if (!is_digit(text.at[i])) {
        // Infinities and NaN have names, and a point may come first.
        u8 letter = text.at[i] | 0x20;
        return text.at[i] == '.' || letter == 'i' || letter == 'n' ? UNSURE : NO_VALUE;
    }
    u64 digits = 0;
    i64 scale = 0;
    bool point = false, is_long = false, any = false;
#pragma unroll 1
    for (; i < text.length; i++) {
        u8 byte = text.at[i];
        if (byte == '.' && !point) {
            point = true;
            any = false;
            continue;
        }
        if (!is_digit(byte)) break;
        any = true;
        if (digits > 900719925474098ull) is_long = true;
        else digits = digits * 10 + (byte - '0');
        if (point) scale--;
    }
    if (i < text.length && (text.at[i] | 0x20) != 'e') return NO_VALUE;
    if (point && !any) return UNSURE;
    if (i < text.length) {
        i++;
        bool below = i < text.length && text.at[i] == '-';
        if (below || (i < text.length && text.at[i] == '+')) i++;
        if (i == text.length) return NO_VALUE;
        i64 exponent = 0;
#pragma unroll 1
        for (; i < text.length; i++) {
            if (!is_digit(text.at[i])) return NO_VALUE;
            if (exponent > 10000) return UNSURE;
            exponent = exponent * 10 + (text.at[i] - '0');
        }
        scale += below ? -exponent : exponent;
    }
    if (is_long || (digits != 0 && (scale < -22 || scale > 22))) return UNSURE;
    f64 whole = (f64)digits;
    if (digits != 0) whole = scale < 0 ? whole / power_of_ten((u32)-scale) : whole * power_of_ten((u32)scale);
    value = negative ? -whole : whole;
    return A_VALUE;
}

__device__ __forceinline__ bool is_date(i64 year, i32 month, i32 day) {
    if (month < 1 || month > 12 || day < 1) return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    i32 last = month == 2 ? (leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    return day <= last;
}
// Up to `most` digits from `at` on; moves past them.
__device__ __forceinline__ i32 next_number(const Text& text, i64& at, i64 most, i64& count) {
    i32 number = 0;
    for (count = 0; count < most && at < text.length && is_digit(text.at[at]); count++, at++) number = number * 10 + (text.at[at] - '0');
    return number;
}
// 2020-02-29, also without the leading zeros of month and day, and 20200229; in days.
__device__ __forceinline__ u32 text_value(const Text& text, i32& value) {
    value = 0;
    if (text.length == 0) return NO_VALUE;
    if (text.at[0] == '+' || text.at[0] == '-') return text.length > 1 && is_digit(text.at[1]) ? UNSURE : NO_VALUE;
    if (text.length < 8 || !is_digit(text.at[0])) return NO_VALUE;
    if (text.length > 10) return UNSURE;
    i64 at = 0, count;
    i32 year = next_number(text, at, 4, count), month, day;
    if (count != 4) return NO_VALUE;
    if (text.at[4] == '-') {
        at = 5;
        month = next_number(text, at, 2, count);
        if (count == 0 || at >= text.length || text.at[at] != '-') return NO_VALUE;
        at++;
        day = next_number(text, at, 2, count);
        if (count == 0) return NO_VALUE;
        // The host stops early in some formats with fewer digits: 2020-1-2x is a date.
        if (at != text.length) return UNSURE;
    } else {
        if (text.length != 8) return NO_VALUE;
        month = next_number(text, at, 2, count);
        if (count != 2) return NO_VALUE;
        day = next_number(text, at, 2, count);
        if (count != 2) return NO_VALUE;
    }
    if (!is_date(year, month, day)) return NO_VALUE;
    value = (i32)days_of_date(year, month, day);
    return A_VALUE;
}
// 2020-02-29T12:34:56.789, with a blank for the T, and without the time; other formats are parsed by the host.
template <i64 PER_SECOND> __device__ __forceinline__ u32 text_moment(const Text& text, i64& value) {
    value = 0;
    if (text.length < 10 || !is_digit(text.at[0])) return NO_VALUE;
    i64 at = 0, count;
    i32 part[6] = {0, 0, 0, 0, 0, 0};
    const i64 parts = text.length == 10 ? 3 : 6;
#pragma unroll 1
    for (i64 i = 0; i < parts; i++) {
        if (i > 0) {
            u8 mark = at < text.length ? text.at[at] : (u8)0;
            if (i == 3 ? mark != 'T' && mark != ' ' : mark != (i < 3 ? '-' : ':')) return UNSURE;
            at++;
        }
        part[i] = next_number(text, at, i == 0 ? 4 : 2, count);
        if (count != (i == 0 ? 4 : 2)) return UNSURE;
    }
    if (!is_date(part[0], part[1], part[2])) return NO_VALUE;
    if (part[3] > 23 || part[4] > 59 || part[5] > 59) return UNSURE;
    i64 ticks = 0;
    if (at < text.length) {
        if (text.at[at++] != '.') return UNSURE;
        i64 unit = PER_SECOND;
        if (at == text.length) return UNSURE;
#pragma unroll 1
        for (; at < text.length; at++) {
            if (!is_digit(text.at[at]) || unit == 1) return UNSURE;
            unit /= 10;
            ticks += (text.at[at] - '0') * unit;
        }
    }
    i64 days = days_of_date(part[0], part[1], part[2]);
    // Within the range of nanoseconds, whatever the unit is.
    if (part[0] < 1678 || part[0] > 2261) return UNSURE;
    value = ((days * 24 + part[3]) * 3600 + part[4] * 60 + part[5]) * PER_SECOND + ticks;
    return A_VALUE;
}

// ---- computed strings ----
__device__ __forceinline__ u8* put_digits(u8* to, u64 number, u32 width) {
    for (u32 i = width; i > 0; i--, number /= 10) to[i - 1] = (u8)('0' + number % 10);
    return to + width;
}
__device__ __forceinline__ u32 year_width(i64 year) {
    if (year >= 0 && year <= 9999) return 4;
    u32 digits = 0;
    for (u64 left = year < 0 ? (u64)-year : (u64)year; left > 0; left /= 10) digits++;
    return 1 + (digits < 4 ? 4 : digits);
}
// Years that the host cannot format are a row error.
__device__ __forceinline__ i64 date_length(i64 days, u32& fault) {
    i64 year = date_of_days(days).year;
    if (year < -262143 || year > 262142) fault = 1;
    return year_width(year) + 6;
}
__device__ __forceinline__ u8* put_date(u8* to, i64 days) {
    Date date = date_of_days(days);
    u32 width = year_width(date.year);
    if (width > 4) {
        *to++ = date.year < 0 ? '-' : '+';
        width--;
    }
    to = put_digits(to, date.year < 0 ? (u64)-date.year : (u64)date.year, width);
    *to++ = '-';
    to = put_digits(to, (u64)date.month, 2);
    *to++ = '-';
    return put_digits(to, (u64)date.day, 2);
}
// Fractional digits of the second: none, or as many groups of three as needed.
template <i64 PER_SECOND> __device__ __forceinline__ u32 fraction_width(i64 ticks) {
    i64 rest = (ticks - floor_div<PER_SECOND>(ticks) * PER_SECOND) * (1000000000ll / PER_SECOND);
    return rest == 0 ? 0 : rest % 1000000 == 0 ? 3 : rest % 1000 == 0 ? 6 : 9;
}
template <i64 PER_SECOND> __device__ __forceinline__ i64 moment_length(i64 ticks, u32& fault) {
    u32 width = fraction_width<PER_SECOND>(ticks);
    return date_length(floor_div<86400 * PER_SECOND>(ticks), fault) + 9 + (width == 0 ? 0 : 1 + width);
}
template <i64 PER_SECOND> __device__ __forceinline__ u8* put_moment(u8* to, i64 ticks) {
    i64 second = floor_div<PER_SECOND>(ticks), days = floor_div<86400>(second), of_day = second - days * 86400;
    to = put_date(to, days);
    *to++ = 'T';
    to = put_digits(to, (u64)(of_day / 3600), 2);
    *to++ = ':';
    to = put_digits(to, (u64)(of_day / 60 % 60), 2);
    *to++ = ':';
    to = put_digits(to, (u64)(of_day % 60), 2);
    u32 width = fraction_width<PER_SECOND>(ticks);
    if (width == 0) return to;
    *to++ = '.';
    u64 rest = (u64)((ticks - second * PER_SECOND) * (1000000000ll / PER_SECOND));
    return put_digits(to, width == 3 ? rest / 1000000 : width == 6 ? rest / 1000 : rest, width);
}
// A decimal with all digits of its scale.
__device__ __forceinline__ i64 decimal_length(i128 x, u32 scale) {
    u32 digits = 0;
    for (u128 left = x < 0 ? (u128)0 - (u128)x : (u128)x; left > 0; left /= 10) digits++;
    if (digits <= scale) digits = scale + 1;
    return digits + (scale > 0 ? 1 : 0) + (x < 0 ? 1 : 0);
}
__device__ __forceinline__ u8* put_decimal(u8* to, i128 x, u32 scale) {
    i64 length = decimal_length(x, scale);
    u128 left = x < 0 ? (u128)0 - (u128)x : (u128)x;
    i64 first = x < 0 ? 1 : 0;
    if (x < 0) to[0] = '-';
    for (i64 i = length - 1; i >= first; i--) {
        if (scale > 0 && i == length - 1 - (i64)scale) {
            to[i] = '.';
            continue;
        }
        to[i] = (u8)('0' + (u32)(left % 10));
        left /= 10;
    }
    return to + length;
}

// Floats: the shortest decimal that parses to the same number, of several the nearest one (Giulietti, "The Schubfach
// way to render doubles", 2021). `powers` are the upper 128 bits of the powers of ten from -292 to 324, rounded up, the
// upper word first.
struct Shortest {
    u64 digits;
    i32 exponent;
};
// The upper word of a product; its lowest bit is sticky: it says whether lower bits were set.
__device__ __forceinline__ u64 product_to_odd(const u64* power, u64 x) {
    u128 whole = (u128)power[0] * x + (u64)((u128)power[1] * x >> 64);
    return (u64)(whole >> 64) | ((u64)whole > 1 ? 1 : 0);
}
// Digits of c * 2^q; `closer`: the next lower number is half as far away as the next higher one.
__device__ __forceinline__ Shortest shortest(u64 c, i32 q, bool closer, const u64* powers) {
    if (q <= 0 && q > -53 && (c & ((1ull << -q) - 1)) == 0) return {c >> -q, 0};
    // Floors of logarithms, as exact as these exponents need them.
    i32 k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
    i32 shift = q + (-k * 1741647 >> 19) + 1;
    const u64* power = powers + 2 * (292 - k);
    u64 odd = c & 1;
    u64 lower = product_to_odd(power, (4 * c - 2 + (closer ? 1 : 0)) << shift) + odd;
    u64 value = product_to_odd(power, 4 * c << shift);
    u64 upper = product_to_odd(power, (4 * c + 2) << shift) - odd;
    u64 floor = value / 4, tens = floor / 10;
    if (floor >= 10) {
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) return {tens + (above ? 1 : 0), k + 1};
    }
    bool below = lower <= 4 * floor, above = 4 * floor + 4 <= upper;
    if (below != above) return {floor + (above ? 1 : 0), k};
    u64 middle = 4 * floor + 2;
    return {floor + (value > middle || (value == middle && (floor & 1) != 0) ? 1 : 0), k};
}
__device__ __forceinline__ u8* put_word(u8* to, const char* word) {
    for (; *word != 0; word++) *to++ = (u8)*word;
    return to;
}
// The format of the `ryu` crate, which Arrow uses: 0.1, 12.0, 1e16, 1.5e-7.
template <class T> __device__ __forceinline__ u8* put_float(u8* to, T x, const u64* powers) {
    const bool wide = sizeof(T) == 8;
    const u32 places = wide ? 52 : 23;
    u64 bits = bits_of(x), fraction = bits & ((1ull << places) - 1);
    i32 raw = (i32)(bits >> places) & (wide ? 2047 : 255);
    if (raw == (wide ? 2047 : 255) && fraction != 0) return put_word(to, "NaN");
    if (x < 0 || (x == 0 && bits != 0)) *to++ = '-';
    if (raw == (wide ? 2047 : 255)) return put_word(to, "inf");
    if (x == 0) return put_word(to, "0.0");
    u64 c = raw == 0 ? fraction : fraction | 1ull << places;
    Shortest of = shortest(c, (raw == 0 ? 1 : raw) - (wide ? 1075 : 150), fraction == 0 && raw > 1, powers);
    for (; of.digits % 10 == 0; of.exponent++) of.digits /= 10;
    i32 count = 0;
    for (u64 left = of.digits; left > 0; left /= 10) count++;
    // Digits before the point.
    i32 whole = count + of.exponent;
    if (whole > (wide ? -5 : -6) && whole <= 0) {
        to = put_word(to, "0.");
        for (i32 i = whole; i < 0; i++) *to++ = '0';
        return put_digits(to, of.digits, (u32)count);
    }
    u64 power = 1;
    bool plain = whole > 0 && whole <= (wide ? 16 : 13);
    for (i32 i = plain ? whole : 1; i < count; i++) power *= 10;
    to = put_digits(to, of.digits / power, (u32)(plain && whole < count ? whole : plain ? count : 1));
    if (plain) {
        for (i32 i = count; i < whole; i++) *to++ = '0';
        *to++ = '.';
        return put_digits(to, of.digits % power, whole < count ? (u32)(count - whole) : 1);
    }
    if (count > 1) {
        *to++ = '.';
        to = put_digits(to, of.digits % power, (u32)count - 1);
    }
    *to++ = 'e';
    i32 exponent = whole - 1;
    if (exponent < 0) *to++ = '-';
    u32 size = exponent < 0 ? (u32)-exponent : (u32)exponent;
    return put_digits(to, size, size < 10 ? 1 : size < 100 ? 2 : 3);
}
template <class T> __device__ __forceinline__ u32 float_length(T x, const u64* powers) {
    // Sign, 17 digits, point, and an exponent of three digits with its sign.
    u8 room[24];
    return (u32)(put_float(room, x, powers) - room);
}
