"""The bodies of tests/spark/test_semi_joins.py on Spark Connect."""

from tests.spark.test_semi_joins import *
