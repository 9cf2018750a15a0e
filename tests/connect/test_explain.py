"""The bodies of tests/spark/test_explain.py on Spark Connect."""

from tests.spark.test_explain import *
