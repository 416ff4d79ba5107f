-- Five sources over one bucket of CSV objects, and a view that is kept up to date.

CREATE SOURCE flights (
    year integer, month integer, day integer,
    dep_time integer, sched_dep_time integer, dep_delay integer,
    arr_time integer, sched_arr_time integer, arr_delay integer,
    carrier text, flight integer, tailnum text, origin text, dest text,
    air_time integer, distance integer, hour integer, minute integer,
    time_hour timestamp with time zone
) FROM S3 DISCOVER OBJECTS MATCHING 'flights/**' USING BUCKET SCAN 'nycflights'
  FORMAT CSV WITH HEADER NULL AS 'NA'
  EXPOSE PROGRESS AS flights_progress;

CREATE SOURCE weather (
    origin text, year integer, month integer, day integer, hour integer,
    temp double precision, dewp double precision, humid double precision,
    wind_dir integer, wind_speed double precision, wind_gust double precision,
    precip double precision, pressure double precision, visib double precision,
    time_hour timestamp with time zone
) FROM S3 DISCOVER OBJECTS MATCHING 'weather/**' USING BUCKET SCAN 'nycflights'
  FORMAT CSV WITH HEADER NULL AS 'NA';

CREATE SOURCE airlines (carrier text, name text)
  FROM S3 DISCOVER OBJECTS MATCHING 'airlines.csv' USING BUCKET SCAN 'nycflights'
  FORMAT CSV WITH HEADER;

CREATE SOURCE airports (
    faa text, name text, lat double precision, lon double precision,
    alt integer, tz integer, dst text, tzone text
) FROM S3 DISCOVER OBJECTS MATCHING 'airports.csv' USING BUCKET SCAN 'nycflights'
  FORMAT CSV WITH HEADER NULL AS 'NA';

CREATE SOURCE planes (
    tailnum text, year integer, type text, manufacturer text, model text,
    engines integer, seats integer, speed integer, engine text
) FROM S3 DISCOVER OBJECTS MATCHING 'planes.csv' USING BUCKET SCAN 'nycflights'
  FORMAT CSV WITH HEADER NULL AS 'NA';

-- What the weather of the hour does to departures: one row an airport and hour.
CREATE MATERIALIZED VIEW delays AS
SELECT
    f.origin,
    f.time_hour,
    count(*) AS flights,
    count(*) - count(f.dep_delay) AS cancelled,
    avg(f.dep_delay) AS mean_delay,
    max(f.dep_delay) AS worst_delay,
    w.temp,
    w.wind_speed,
    w.visib,
    w.precip
FROM flights AS f
LEFT JOIN weather AS w ON w.origin = f.origin AND w.time_hour = f.time_hour
GROUP BY f.origin, f.time_hour, w.temp, w.wind_speed, w.visib, w.precip;
