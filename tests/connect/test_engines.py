"""The bodies of tests/property/test_engines.py on Spark Connect."""

from tests.property.test_engines import *
