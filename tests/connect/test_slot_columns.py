"""The bodies of tests/spark/test_slot_columns.py on Spark Connect."""

from tests.spark.test_slot_columns import *
