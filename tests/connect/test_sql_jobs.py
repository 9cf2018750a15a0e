"""The bodies of tests/spark/test_sql_jobs.py on Spark Connect."""

from tests.spark.test_sql_jobs import *
