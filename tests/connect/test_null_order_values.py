"""The bodies of tests/spark/test_null_order_values.py on Spark Connect."""

from tests.spark.test_null_order_values import *
