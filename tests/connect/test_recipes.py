"""The bodies of tests/spark/test_recipes.py on Spark Connect."""

from tests.spark.test_recipes import *
