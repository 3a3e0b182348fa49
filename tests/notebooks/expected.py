"""The figures of the notebooks, computed by DuckDB from the same files: SQL for each cell, by the cell's id."""

from pathlib import Path

import duckdb

# What a cell shows as a table: same columns, same rows, same order.
TABLES = {
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
               count(*) as flights, avg(dep_delay) as mean_delay, quantile_disc(dep_delay, 0.9) as p90
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

# What a cell shows as one value.
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


def table(connection, cell: str) -> tuple[list[str], list[tuple]]:
    result = connection.execute(TABLES[cell])
    return [column[0] for column in result.description], result.fetchall()


def value(connection, cell: str):
    return connection.execute(VALUES[cell]).fetchone()[0]
