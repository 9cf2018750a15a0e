"""The bodies of tests/spark/test_features.py on Spark Connect."""

from tests.spark.test_features import *
