"""The bodies of tests/spark/test_sase_figures.py on Spark Connect."""

from tests.spark.test_sase_figures import *
