"""Other matchers: each is driven by a script of its own, which runs in an environment of its own."""
