"""The bodies of tests/spark/test_register.py on Spark Connect."""

from tests.spark.test_register import *
