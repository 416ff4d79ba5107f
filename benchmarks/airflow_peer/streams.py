"""What a user would write instead of `reclock_tick`: a Spark application for each folder of CSV."""

import os
from pathlib import Path

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import dag

from reclock.clusters.jars import default_folder

HOME = os.environ["RECLOCK_HOME"]


@dag(dag_id="streams", schedule=None, is_paused_upon_creation=False)
def streams() -> None:
    for number in range(int(os.environ["BENCH_SOURCES"])):
        SparkSubmitOperator(
            task_id=f"stream_{number}",
            application=str(Path(__file__).with_name("stream_csv.py")),
            application_args=[f"{HOME}/buckets/bench/s{number}", f"{HOME}/streams/s{number}"],
            conn_id="spark_default",
            driver_class_path=f"{default_folder()}/*",
        )


streams()
