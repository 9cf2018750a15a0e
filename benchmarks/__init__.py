"""Measures what matching costs against the least a Spark job over the same rows can cost."""
