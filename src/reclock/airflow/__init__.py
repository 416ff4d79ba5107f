"""Reclock as a provider of Airflow: a connection type, its hook, operators and sensors.

Only this package imports Airflow, and nothing else in Reclock imports this package.
"""
