"""The bodies of tests/spark/test_time_outs.py on Spark Connect."""

from tests.spark.test_time_outs import *
