"""The bodies of tests/spark/test_tables.py on Spark Connect."""

from tests.spark.test_tables import *
