"""The engines that run plans: DuckDB in this process, and Spark for large inputs. Both give the
same answers."""
