"""The bodies of tests/spark/test_examples.py on Spark Connect."""

from tests.spark.test_examples import *
