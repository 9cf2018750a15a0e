"""The bodies of tests/spark/test_expressions.py on Spark Connect."""

from tests.spark.test_expressions import *
