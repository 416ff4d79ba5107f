SELECT 'Feb 10 5:32PM 1997'::timestamp, '10 Feb 1997 12:32 am'::timestamp, 'Mon Feb 10 17:32:01 97'::timestamp
SELECT '1997.041 17:32:01 UTC'::timestamp, '1999.008'::date, 'J2451187'::date, '19990108'::date, '990108'::date
SELECT 'Mon Feb 10 17:32:01 1997 PST'::timestamptz, '1997/02/10 17:32:01-0800'::timestamptz, '2000-03-15 08:14:01 GMT+8'::timestamptz
SELECT '19970210 173201 America/New_York'::timestamptz, '20011227 040506.789-08'::timestamptz, '20011227T040506-08'::timestamptz
SELECT '1/18/1999'::date, '1/8/99'::date, '12.27.2001'::date, '08-Jan-99'::date, 'Jan-08-1969'::date, 'January 8, 1970'::date, '1999-Jan-08'::date
SELECT '5-6-07'::date, '1/2/2024 3:04:05 PM'::timestamp, '10-Feb-1997 17:32:01.5 America/New_York'::timestamptz
SELECT '2000 01 02'::date, '2000 01-02'::date, '2020-01-01 1:2:3.789'::timestamp, '20070201 T 15:04:05+00'::timestamptz, '20010101 1:02'::timestamp, '0001-12-31 19:03:58 AD'::timestamp
SELECT '2001 02-03'::text::date, '2001 02-03'::varchar::timestamp, 'Feb 3 2001 4:05'::text::timestamptz
SELECT '20070201T15:04:05+00'::timestamptz, '20070201T15:04:05'::timestamp, '20070201T150405.5'::timestamp, '2000-01-01 9::7'::timestamp
SELECT '"2020-03-17 ~02:36:56~"'::timestamp, '"2020!03-17 #?~T~02:36:56# +   00 ?  '::timestamptz, '"?!?2024-02-13 17:01:58.37848 ?+  00  : '::timestamptz, '(2001-01-01);'::date, '2001-01-01 / 10:00'::timestamp
SELECT '2020-12-31 23:59:59+5:30:16'::timestamptz, '2020-12-31 23:59:59 MST+7:00'::timestamptz, '2001-01-01 10:00 - 5'::timestamptz
SELECT timestamptz(0) '2020-12-31 23:59:59.623456789+06', timestamptz(1) '2020-12-31 23:59:59.65' = timestamptz(1) '2020-12-31 23:59:59.7', timestamp(2) '2020-12-31 23:59:59.523456789+06', timestamp(0) with time zone '2020-12-31 23:59:59.123456789', (time(0) '23:59:58.623456789')::text
