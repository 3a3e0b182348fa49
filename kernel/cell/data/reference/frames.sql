select city, item, price::double as price, n::bigint as n, paid, sold::timestamp as sold, sold::timestamp::date as day,
       string_split(item, '-') as words, [n::bigint, n::bigint * 2] as sizes, note
from (values
    ('Berlin', 'tea-1', 3.5, 4, true, '2026-01-05 09:30:00', '{"a": [1, 2]}'),
    ('Paris', 'cup-2', 8.0, 1, false, '2026-01-06 14:00:00', '{"a": []}'),
    ('Berlin', 'cup-3', null, 2, true, '2026-01-31 18:45:10', null),
    ('Rome', 'tea-4', 4.25, 3, true, '2026-02-14 08:05:00', '{"b": 1}'),
    ('Paris', 'pot-5', 21.0, 1, false, '2026-02-28 23:59:59', '{"a": [3]}'),
    ('Rome', 'tea-6', 3.75, 6, true, '2026-03-01 00:00:00', '{"a": [4, 5]}')
) as t(city, item, price, n, paid, sold, note)
