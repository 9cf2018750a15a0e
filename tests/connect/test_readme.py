"""The bodies of tests/spark/test_readme.py on Spark Connect."""

from tests.spark.test_readme import *
