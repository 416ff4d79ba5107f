"""The plugin for an Airflow whose plugins come from a folder.

An Airflow with the package installed finds the plugin by its entry point, and needs no folder. Where
both are there, Airflow registers it once, by its name.
"""

from reclock.airflow.plugin import ReclockPlugin

__all__ = ["ReclockPlugin"]
