"""The bodies of tests/spark/test_event_tables.py on Spark Connect."""

from tests.spark.test_event_tables import *
