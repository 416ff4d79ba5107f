#!/bin/sh
# One of Spark's daemons, in the foreground, from the wheel that the package runs with: docker/spark.sh CLASS ARGUMENTS...
set -eu
export SPARK_HOME="$(python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')"
exec "$SPARK_HOME/bin/spark-class" "$@"
