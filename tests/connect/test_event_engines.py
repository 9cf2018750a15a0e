"""The bodies of tests/property/test_event_engines.py on Spark Connect."""

from tests.property.test_event_engines import *
