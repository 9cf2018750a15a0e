"""The bodies of tests/spark/test_type_rules.py on Spark Connect."""

from tests.spark.test_type_rules import *
