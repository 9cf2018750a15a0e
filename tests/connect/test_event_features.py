"""The bodies of tests/spark/test_event_features.py on Spark Connect."""

from tests.spark.test_event_features import *
