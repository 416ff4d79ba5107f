import time
from collections import Counter
from test_same_answer_as_postgres import world, engine, queries, printed_answer


def test_tmp(world, engine, spark_engine):
    out = open("/tmp/arrays_spark.txt", "a", buffering=1)
    for sql in (s for s in queries("dimensions") if " FROM " in s):
        start = time.time()
        try:
            select = world.select(sql)
            a = Counter(printed_answer(world, engine, select))
            b = Counter(printed_answer(world, spark_engine, select))
            r = "ok" if a == b else ("DIFF", list((a - b).items())[:3], list((b - a).items())[:3])
        except Exception as e:
            r = ("FAIL", type(e), str(e.__cause__ or e)[:400])
        print(round(time.time() - start, 1), sql[:150], r, file=out)
