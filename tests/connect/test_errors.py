"""The bodies of tests/spark/test_errors.py on Spark Connect."""

from tests.spark.test_errors import *
