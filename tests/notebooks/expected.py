"""The figures of the notebooks, computed by DuckDB from the same files: SQL for each cell, by the cell's id."""

from pathlib import Path

import duckdb

# What a cell of the tour shows as a table: same columns, same rows, same order.
TOUR = {
    "first-look": "select * from flights",
    "weather-head": "select * from weather limit 3",
    "christmas-eve": """
        select carrier, flight, origin, dest, dep_delay from flights
        where month = 12 and day = 24 and dep_delay > 120 order by dep_delay desc
    """,
    "new-columns": """
        select carrier, origin, dest, distance / air_time * 60 as mph, dep_delay - arr_delay as gained,
               case when hour < 12 then 'morning' when hour < 18 then 'afternoon' else 'evening' end as part
        from flights limit 5
    """,
    "by-part": """
        select case when hour < 12 then 'morning' when hour < 18 then 'afternoon' else 'evening' end as part, origin,
               count(*) as flights, avg(dep_delay) as mean_delay,
               list_sort(list(dep_delay) filter (dep_delay is not null))[1 + round((count(dep_delay) - 1) * 0.9)::bigint]::double as p90
        from flights group by all order by mean_delay
    """,
    "airlines": """
        select name, count(*) as flights, avg(arr_delay) as mean_delay, avg((arr_delay > 30)::int) as late_share
        from flights join airlines using (carrier) group by name order by mean_delay desc
    """,
    "unknown-airports": """
        select dest, count(*) as count from flights where dest not in (select faa from airports)
        group by dest order by count desc
    """,
    "planes": """
        select manufacturer, count(*) as flights, count(distinct tailnum) as planes, avg(seats) as seats
        from flights join planes using (tailnum) group by manufacturer order by flights desc limit 6
    """,
    "weather-join": """
        select case when visib < 1 then '1 fog' when precip > 0.1 then '2 heavy rain' when precip > 0 then '3 rain'
                    else '4 dry' end as sky,
               count(*) as flights, avg(dep_delay) as mean_delay
        from flights join weather using (origin, time_hour) group by sky order by sky
    """,
    "sql": """
        select a.name, count(*) as flights, avg(f.arr_delay) as mean_delay
        from flights f join airlines a using (carrier) where f.dest = 'SFO' group by a.name order by mean_delay
    """,
    "expression-function": """
        select sched_dep_time, (sched_dep_time // 100 * 60 + sched_dep_time % 100)::double as minute_of_day from flights limit 3
    """,
    "longest-runs": """
        with ordered as (
            select carrier, dep_delay <= 0 as on_time,
                   row_number() over (partition by carrier order by month, day, sched_dep_time, flight, origin) as n,
                   row_number() over (partition by carrier, coalesce(dep_delay <= 0, false)
                                      order by month, day, sched_dep_time, flight, origin) as m
            from flights
        ), runs as (select carrier, count(*) as length from ordered where on_time group by carrier, n - m)
        select name, max(length) as longest_run from runs join airlines using (carrier)
        group by name order by longest_run desc, name limit 5
    """,
}

# The same for the notebook for pandas users.
PANDAS = {
    "head": "select * from flights limit 3",
    "select": "select carrier, flight, dest from flights",
    "filter": "select carrier, flight, dep_delay from flights where origin = 'JFK' and dep_delay > 300",
    "assign": "select distance, air_time, distance / air_time * 60 as mph from flights limit 3",
    "where": """
        select case when dep_delay > 15 then 'late' else 'ok' end as state, count(*) as count from flights
        group by state order by count desc
    """,
    "map": """
        select case carrier when 'UA' then 'United' when 'AA' then 'American' else 'other' end as who, count(*) as count
        from flights group by who order by count desc
    """,
    "sort": "select month, day, flight, distance from flights order by month, distance desc, day, flight limit 3",
    "group": "select origin, count(*) as n, avg(dep_delay) as mean from flights group by origin order by origin",
    "value-counts": "select origin, count(*) as count from flights group by origin order by count desc",
    "transform": """
        select carrier, dep_delay, dep_delay - avg(dep_delay) over (partition by carrier) as above
        from (select *, row_number() over () as n from flights) order by n limit 3
    """,
    "merge": """
        select flight, carrier, name
        from (select *, row_number() over () as n from flights) left join airlines using (carrier) order by n limit 3
    """,
    "nulls": "select avg(dep_delay) as mean, avg(coalesce(dep_delay, 0)) as mean_of_filled from flights",
    "pivot": """
        select month, avg(dep_delay) filter (origin = 'EWR') as EWR, avg(dep_delay) filter (origin = 'LGA') as LGA,
               avg(dep_delay) filter (origin = 'JFK') as JFK
        from flights group by month order by month
    """,
    "melt": """
        select month, origin, avg(dep_delay) as delay from flights group by month, origin order by month, origin limit 4
    """,
    "windows": """
        select month, day, n, case when row_number() over w >= 7 then avg(n) over (w rows 6 preceding) end as week,
               lag(n) over w as before, sum(n) over (w rows unbounded preceding)::bigint as so_far
        from (select month, day, count(*) as n from flights where starts_with(tailnum, 'N1') group by month, day)
        window w as (order by month, day) order by month, day limit 8
    """,
    "idiom-21-code": "select carrier, flight, dep_delay from flights where dep_delay > 800",
    "idiom-23-code": "select * from (values ('Ada', 36), ('Linus', 54)) t(name, age)",
    "idiom-26-code": """
        select carrier, count(*) filter (origin = 'EWR') as EWR, count(*) filter (origin = 'JFK') as JFK,
               count(*) filter (origin = 'LGA') as LGA
        from flights group by carrier order by carrier limit 4
    """,
    "idiom-31-code": """
        select case carrier when 'UA' then 'United' when 'AA' then 'American' else carrier end as who, count(*) as count
        from flights group by who order by count desc limit 3
    """,
    "idiom-34-code": "select origin, avg(dep_delay) as mean from flights group by origin order by origin",
    "idiom-35-code": """
        select month, count(*) filter (origin = 'EWR') as EWR, count(*) filter (origin = 'JFK') as JFK,
               count(*) filter (origin = 'LGA') as LGA
        from flights group by month order by month limit 3
    """,
    "idiom-38-code": """
        select count(distinct carrier) as carrier, count(distinct origin) as origin, count(distinct dest) as dest,
               count(distinct tailnum) + 1 as tailnum from flights
    """,
    "idiom-40-code": "select origin, count(*) as len from flights group by origin order by origin",
}

# The same for the notebook on clusters, whose frames have an order where a cell sorts them.
CLUSTER = {
    "cluster-6": """
        select carrier, count(*) as flights, avg(dep_delay) as delay,
               list_sort(list(dep_delay) filter (dep_delay is not null))[1 + round((count(dep_delay) - 1) * 0.9)::bigint]::double as p90
        from flights group by carrier order by delay desc
    """,
    "cluster-10": """
        select name, count(*) as flights, sum(distance)::bigint as miles
        from flights join airlines using (carrier) group by name order by miles desc limit 5
    """,
    "cluster-12": """
        select a.name, count(*) as flights, avg(f.arr_delay) as mean_delay
        from flights f join airlines a using (carrier) where f.dest = 'SFO' group by a.name order by mean_delay
    """,
    "cluster-14": """
        select origin, case when hour < 12 then 'morning' when hour < 18 then 'afternoon' else 'evening' end as part,
               count(*) as flights, median(dep_delay) as median
        from flights where dep_delay > 60 and origin in ('JFK', 'LGA') group by all order by origin, part
    """,
    "cluster-16": """
        select origin, month, avg(dep_delay) as delay,
               avg(dep_delay) - avg(avg(dep_delay)) over (partition by origin) as above
        from flights group by origin, month order by origin, month limit 6
    """,
    "cluster-20": """
        select month, day, carrier, origin, dest, dep_delay from flights where dep_delay > 300
        order by dep_delay desc limit 5
    """,
}

TABLES = {"01-tour.ipynb": TOUR, "02-for-pandas-users.ipynb": PANDAS, "11-cluster.ipynb": CLUSTER}

# What a cell of the tour shows as one value.
VALUES = {
    "shape": "select '(' || count(*) || ', 19)' from flights",
    "cancelled": "select count(*) from flights where dep_time is null",
    "rust-value": "select '(' || count(*) || ', 19)' from flights where dep_delay > 60 and origin in ('JFK', 'LGA')",
    "still-there": "select '(' || count(*) || ', 19)' from flights where dep_delay > 60 and origin in ('JFK', 'LGA')",
}


def connect(data: Path) -> duckdb.DuckDBPyConnection:
    """The files of notebooks/data as tables."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    # In UTC without its zone, which Python would need a package for.
    utc = "select * replace (timezone('UTC', time_hour::timestamptz) as time_hour)"
    connection.execute(f"create view flights as {utc} from read_parquet('{data / 'flights.parquet'}')")
    for name in ["airlines", "airports", "planes", "weather"]:
        path = data / f"{name}.csv"
        columns = utc if name == "weather" else "select *"
        connection.execute(f"create table {name} as {columns} from read_csv('{path}', nullstr = 'NA', sample_size = -1)")
    return connection


def table(connection, notebook: str, cell: str) -> tuple[list[str], list[tuple]]:
    result = connection.execute(TABLES[notebook][cell])
    return [column[0] for column in result.description], result.fetchall()


def value(connection, cell: str):
    # All rows: a result that is read in part keeps the connection from other work.
    return connection.execute(VALUES[cell]).fetchall()[0][0]
