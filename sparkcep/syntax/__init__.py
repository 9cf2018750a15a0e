"""Text to tree and back: row patterns, the MATCH_RECOGNIZE clause, SQL statements around it, event patterns."""
