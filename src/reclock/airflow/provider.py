"""What Airflow reads about Reclock, through the entry point ``apache_airflow_provider``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Reclock's entry in the list of providers, in the form of Airflow's ``provider_info``."""
    return {
        "package-name": "reclock",
        "name": "Reclock",
        "description": "Puts a lakehouse on one clock: all sources are read at one time.",
        "versions": [version("reclock")],
        "integrations": [{"integration-name": "Reclock", "tags": ["software"]}],
        "triggers": [
            {"integration-name": "Reclock", "python-modules": ["reclock.airflow.triggers"]}
        ],
        "plugins": [{"name": "reclock", "plugin-class": "reclock.airflow.plugin.ReclockPlugin"}],
        "asset-uris": [
            {
                "schemes": ["reclock"],
                "handler": None,
                "to_openlineage_converter": "reclock.airflow.lineage.dataset_of_asset",
            }
        ],
        "connection-types": [
            {
                "connection-type": "reclock",
                "hook-name": "Reclock",
                "hook-class-name": "reclock.airflow.hooks.ReclockHook",
                "ui-field-behaviour": {
                    "hidden-fields": [],
                    "relabeling": {
                        "schema": "Database",
                        "login": "User",
                        "extra": "Parameters of the URL (JSON)",
                    },
                    "placeholders": {
                        "host": "host of reclock serve; empty if there is a home",
                        "port": "6875",
                        "schema": "reclock",
                        "login": "reclock",
                    },
                },
                "conn-fields": {
                    "home": {
                        "label": "Home",
                        "description": "The environment's folder, opened in the task's process. "
                        "Without a home and a host it is RECLOCK_HOME.",
                        "schema": {"type": ["string", "null"]},
                    },
                },
            },
        ],
    }
