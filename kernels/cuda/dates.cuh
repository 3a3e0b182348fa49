// Fields and truncation of dates and timestamps, without time zone, in the proleptic Gregorian calendar, before 1970
// too.
//
// A timestamp is a number of ticks since 1970-01-01, PER_DAY of them for each day: 1 for date32, 86400 for seconds, up
// to nanoseconds. Weeks are those of ISO 8601 and begin on Monday; day of the week is 0 for Sunday, as in PostgreSQL.
// From days to a date: Hinnant, "chrono-compatible low-level date algorithms". Deterministic.

enum DatePart { PART_YEAR, PART_QUARTER, PART_MONTH, PART_WEEK, PART_DAY, PART_DAY_OF_YEAR, PART_DAY_OF_WEEK, PART_HOUR, PART_MINUTE, PART_SECOND };
enum DateUnit { UNIT_YEAR, UNIT_QUARTER, UNIT_MONTH, UNIT_WEEK, UNIT_DAY, UNIT_HOUR, UNIT_MINUTE, UNIT_SECOND };

template <i64 BY> __device__ __forceinline__ i64 floor_div(i64 x) {
    i64 q = x / BY;
    return x % BY < 0 ? q - 1 : q;
}

struct Date {
    i64 year;
    i32 month, day;
};
__device__ __forceinline__ Date date_of_days(i64 days) {
    days += 719468;
    i64 era = floor_div<146097>(days);
    u32 day_of_era = (u32)(days - era * 146097);
    u32 year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    // Years that begin in March: the leap day is their last one.
    u32 day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    u32 month = (5 * day_of_year + 2) / 153;
    Date date;
    date.day = (i32)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (i32)(month < 10 ? month + 3 : month - 9);
    date.year = (i64)year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
    return date;
}
__device__ __forceinline__ i64 days_of_date(i64 year, i32 month, i32 day) {
    if (month <= 2) year--;
    i64 era = floor_div<400>(year);
    u32 year_of_era = (u32)(year - era * 400);
    u32 day_of_year = (153 * (u32)(month > 2 ? month - 3 : month + 9) + 2) / 5 + (u32)day - 1;
    return era * 146097 + (i64)(year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year) - 719468;
}
// 0 for Monday.
__device__ __forceinline__ i64 weekday(i64 days) { return days + 3 - floor_div<7>(days + 3) * 7; }

// UTC to local time of a time zone. The table has the UTC offset in seconds from each transition on. All transitions
// come first (ascending, the first one is the beginning of time), then their offsets.
__device__ __forceinline__ u32 zone_entry(i64 second, const i64* table, u32 entries) {
    u32 low = 0, high = entries;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (table[middle] <= second) low = middle;
        else high = middle;
    }
    return low;
}
// UTC offset in seconds.
template <i64 PER_SECOND> __device__ __forceinline__ i64 zone_ahead(i64 ticks, const i64* table, u32 entries) {
    return table[entries + zone_entry(floor_div<PER_SECOND>(ticks), table, entries)];
}
template <i64 PER_SECOND> __device__ __forceinline__ i64 local_time(i64 ticks, const i64* table, u32 entries) {
    return ticks + zone_ahead<PER_SECOND>(ticks, table, entries) * PER_SECOND;
}
// Local time to UTC, and how many timestamps have this local time. Ambiguous: the one with offset `ahead`, otherwise
// the later one. Skipped: with the offset before the gap. There must not be two transitions within two days.
template <i64 PER_SECOND>
__device__ __forceinline__ i64 utc_time(i64 local, i64 ahead, const i64* table, u32 entries, u32& times) {
    i64 second = floor_div<PER_SECOND>(local), found = 0, before_gap = 0;
    u32 at = zone_entry(second, table, entries);
    times = 0;
    for (u32 i = at == 0 ? 0 : at - 1; i <= at + 1 && i < entries; i++) {
        i64 its = table[entries + i], moment = second - its;
        bool ends = i + 1 < entries && moment >= table[i + 1];
        if (moment >= table[i] && !ends && (times++ == 0 || found != ahead)) found = its;
        if (ends && second - table[entries + i + 1] < table[i + 1]) before_gap = its;
    }
    return local - (times == 0 ? before_gap : found) * PER_SECOND;
}

template <int PART, i64 PER_DAY> __device__ __forceinline__ i32 date_part(i64 ticks) {
    i64 days = floor_div<PER_DAY>(ticks);
    if (PART == PART_HOUR || PART == PART_MINUTE || PART == PART_SECOND) {
        u32 second = PER_DAY < 86400 ? 0 : (u32)((ticks - days * PER_DAY) / (PER_DAY < 86400 ? 1 : PER_DAY / 86400));
        return (i32)(PART == PART_HOUR ? second / 3600 : PART == PART_MINUTE ? second / 60 % 60 : second % 60);
    }
    if (PART == PART_DAY_OF_WEEK) return (i32)((weekday(days) + 1) % 7);
    // A week belongs to the year of its Thursday.
    i64 asked = PART == PART_WEEK ? days - weekday(days) + 3 : days;
    Date date = date_of_days(asked);
    if (PART == PART_YEAR) return (i32)date.year;
    if (PART == PART_QUARTER) return (date.month + 2) / 3;
    if (PART == PART_MONTH) return date.month;
    if (PART == PART_DAY) return date.day;
    i32 of_year = (i32)(asked - days_of_date(date.year, 1, 1));
    return PART == PART_WEEK ? of_year / 7 + 1 : of_year + 1;
}

template <int UNIT, i64 PER_DAY> __device__ __forceinline__ i64 date_truncate(i64 ticks) {
    const i64 DAY = PER_DAY;
    if (PER_DAY >= 86400) {
        const i64 SECOND = PER_DAY < 86400 ? 1 : PER_DAY / 86400;
        if (UNIT == UNIT_SECOND) return floor_div<SECOND>(ticks) * SECOND;
        if (UNIT == UNIT_MINUTE) return floor_div<SECOND * 60>(ticks) * (SECOND * 60);
        if (UNIT == UNIT_HOUR) return floor_div<SECOND * 3600>(ticks) * (SECOND * 3600);
    }
    i64 days = floor_div<DAY>(ticks);
    if (UNIT == UNIT_WEEK) return (days - weekday(days)) * DAY;
    if (UNIT >= UNIT_DAY) return days * DAY;
    Date date = date_of_days(days);
    i32 month = UNIT == UNIT_YEAR ? 1 : UNIT == UNIT_QUARTER ? (date.month - 1) / 3 * 3 + 1 : date.month;
    return days_of_date(date.year, month, 1) * DAY;
}

template <class T, int PART, i64 PER_DAY> __device__ __forceinline__ void date_parts(const T* values, u64 rows, i32* out) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) out[row] = date_part<PART, PER_DAY>((i64)values[row]);
}
template <class T, int UNIT, i64 PER_DAY> __device__ __forceinline__ void date_truncations(const T* values, u64 rows, T* out) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) out[row] = (T)date_truncate<UNIT, PER_DAY>((i64)values[row]);
}
