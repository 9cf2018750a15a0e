"""The bodies of tests/spark/test_dialects.py on Spark Connect."""

from tests.spark.test_dialects import *
