"""The bodies of tests/spark/test_enable.py on Spark Connect."""

from tests.spark.test_enable import *
