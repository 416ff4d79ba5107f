-- oid! oid
-- amname text
-- amhandler regproc
-- amtype text
VALUES
  (2, 'heap', NULL, 't'),
  (403, 'btree', NULL, 'i')
