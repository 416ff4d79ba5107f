"""Append what is new in a folder of CSV objects to a Delta table: ``stream_csv.py FOLDER TABLE``."""

import sys

from pyspark.sql import SparkSession

objects, table = sys.argv[1:]
session = (
    SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
rows = session.readStream.csv(
    objects, schema="id bigint, at timestamp, customer string, amount decimal(10, 2)", header=True
)
(
    rows.writeStream.format("delta")
    .option("checkpointLocation", f"{table}/_checkpoint")
    .trigger(availableNow=True)
    .start(table)
    .awaitTermination()
)
