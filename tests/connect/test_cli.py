"""The bodies of tests/spark/test_cli.py on Spark Connect."""

from tests.spark.test_cli import *
