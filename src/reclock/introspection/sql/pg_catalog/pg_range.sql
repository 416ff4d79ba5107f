-- rngtypid! oid
-- rngsubtype oid
-- rngmultitypid oid
-- rngcollation oid
-- There are no multiranges.
VALUES
  (3904, 23, 0, 0),
  (3906, 1700, 0, 0),
  (3908, 1114, 0, 0),
  (3910, 1184, 0, 0),
  (3912, 1082, 0, 0),
  (3926, 20, 0, 0)
