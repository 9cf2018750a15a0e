"""The bodies of tests/spark/test_analysis.py on Spark Connect."""

from tests.spark.test_analysis import *
