"""Translates connections into the settings of their client libraries."""

from __future__ import annotations

from typing import Any

from reclock.definitions.connections import Connection, SecretResolver


def kafka_client(connection: Connection, resolve_secret: SecretResolver) -> dict[str, str]:
    """The settings of a librdkafka client. A connection that names no protocol gets the safest one
    that its other options allow."""
    options = connection.resolved_options(resolve_secret)
    is_sasl = any(name.startswith("SASL") for name in options)
    is_tls = any(name.startswith("SSL") for name in options) or is_sasl
    default = ("SASL_" if is_sasl else "") + ("SSL" if is_tls else "PLAINTEXT")
    settings = {_LIBRDKAFKA[name]: value for name, value in options.items()}
    return {"security.protocol": default, **settings}


_LIBRDKAFKA = {
    "BROKER": "bootstrap.servers",
    "SECURITY PROTOCOL": "security.protocol",
    "SASL MECHANISMS": "sasl.mechanisms",
    "SASL USERNAME": "sasl.username",
    "SASL PASSWORD": "sasl.password",
    "SSL KEY": "ssl.key.pem",
    "SSL CERTIFICATE": "ssl.certificate.pem",
    "SSL CERTIFICATE AUTHORITY": "ssl.ca.pem",
}

_LIBPQ = {
    "HOST": "host",
    "PORT": "port",
    "DATABASE": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "SSL MODE": "sslmode",
}


def postgres_parameters(
    connection: Connection | str, resolve_secret: SecretResolver
) -> dict[str, str]:
    """The parameters of a PostgreSQL connection, under libpq's names."""
    if isinstance(connection, str):
        from psycopg.conninfo import conninfo_to_dict

        return {name: str(value) for name, value in conninfo_to_dict(connection).items()}
    return {
        _LIBPQ[name]: value for name, value in connection.resolved_options(resolve_secret).items()
    }


def aws_client(connection: Connection, resolve_secret: SecretResolver) -> dict[str, str]:
    """The settings of an AWS service client, under boto3's names. The AWS provider chain supplies
    the settings that the connection does not have."""
    return {
        _BOTO3[name]: value for name, value in connection.resolved_options(resolve_secret).items()
    }


_BOTO3 = {
    "ENDPOINT": "endpoint_url",
    "REGION": "region_name",
    "ACCESS KEY ID": "aws_access_key_id",
    "SECRET ACCESS KEY": "aws_secret_access_key",
    "SESSION TOKEN": "aws_session_token",
}


def registry_client(connection: Connection, resolve_secret: SecretResolver) -> dict[str, Any]:
    """The settings of a schema registry client."""
    options = connection.resolved_options(resolve_secret)
    settings: dict[str, Any] = {"url": options["URL"], "timeout": 10, "max.retries": 1}
    if "USERNAME" in options:
        settings["basic.auth.user.info"] = f"{options['USERNAME']}:{options.get('PASSWORD', '')}"
    return settings


def iceberg_rest_client(connection: Connection, resolve_secret: SecretResolver) -> dict[str, str]:
    """The properties of a client of Iceberg's REST protocol, under PyIceberg's names."""
    options = connection.resolved_options(resolve_secret)
    return {_PYICEBERG[name]: value for name, value in options.items() if name in _PYICEBERG}


_PYICEBERG = {
    "URL": "uri",
    "WAREHOUSE": "warehouse",
    "CREDENTIAL": "credential",
    "TOKEN": "token",
    "SCOPE": "scope",
}
