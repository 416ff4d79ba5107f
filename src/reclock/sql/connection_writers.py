"""Secrets and connections: the statements as text."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

from reclock.sql import connection_nodes, nodes
from reclock.sql.writing import clause, joined, listed, when, writes


@writes(connection_nodes.CreateSecretStatement)
def _create_secret(write: Generator, node: exp.Expression) -> str:
    exists = when(node, "exists", "IF NOT EXISTS")
    return joined("CREATE SECRET", exists, write.sql(node, "this"), clause(write, "STORED AS", node, "reference"))


@writes(connection_nodes.AlterSecretStatement)
def _alter_secret(write: Generator, node: exp.Expression) -> str:
    return f"ALTER SECRET {write.sql(node, 'this')} STORED AS {write.sql(node, 'reference')}"


@writes(connection_nodes.SecretName)
def _secret_name(write: Generator, node: exp.Expression) -> str:
    return f"SECRET {write.sql(node, 'this')}"


@writes(connection_nodes.ConnectionOption)
def _connection_option(write: Generator, node: exp.Expression) -> str:
    return f"{node.args['name']} = {write.sql(node, 'value')}"


@writes(nodes.RegistryFormatClause)
def _registry_format(write: Generator, node: exp.Expression) -> str:
    kind = joined(node.args["kind"], clause(write, "MESSAGE", node, "message"))
    using = f"{kind} USING CONFLUENT SCHEMA REGISTRY CONNECTION {write.sql(node, 'connection')}"
    options = [
        clause(write, "AVRO KEY FULLNAME", node, "key_name"),
        clause(write, "AVRO VALUE FULLNAME", node, "value_name"),
        when(node, "null_defaults", "NULL DEFAULTS"),
    ]
    said = ", ".join(option for option in options if option)
    return joined(using, f"({said})" if said else "", clause(write, "SEED SCHEMA", node, "seed"))


@writes(nodes.ProtobufFormatClause)
def _protobuf_format(write: Generator, node: exp.Expression) -> str:
    return f"PROTOBUF MESSAGE {write.sql(node, 'message')} USING SCHEMA {write.sql(node, 'schema')}"


@writes(connection_nodes.CreateConnectionStatement)
def _create_connection(write: Generator, node: exp.Expression) -> str:
    return joined(
        "CREATE CONNECTION",
        when(node, "exists", "IF NOT EXISTS"),
        write.sql(node, "this"),
        f"TO {node.args['kind']} ({listed(write, node, 'connection_options')})",
        f"WITH ({listed(write, node, 'options')})" if node.args.get("options") else "",
    )


@writes(connection_nodes.ValidateConnectionStatement)
def _validate_connection(write: Generator, node: exp.Expression) -> str:
    return f"VALIDATE CONNECTION {write.sql(node, 'this')}"
