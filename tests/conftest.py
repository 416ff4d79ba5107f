"""What every test may use. Fixtures of a component live in ``fixtures/``, each started once and stopped at the end."""

pytest_plugins = ["fixtures.postgres", "fixtures.spark"]
