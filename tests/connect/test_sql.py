"""The bodies of tests/spark/test_sql.py on Spark Connect."""

from tests.spark.test_sql import *
