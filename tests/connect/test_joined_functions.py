"""The bodies of tests/spark/test_joined_functions.py on Spark Connect."""

from tests.spark.test_joined_functions import *
