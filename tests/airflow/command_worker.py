"""Executes commands of Airflow in this process, and prints their outputs as one JSON array."""

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout


def output_of(words: Sequence[str]) -> str:
    from airflow.cli import cli_parser

    arguments = cli_parser.get_parser().parse_args(words)
    with redirect_stdout(io.StringIO()) as output:
        arguments.func(arguments)
    return output.getvalue()


if __name__ == "__main__":
    print("\n" + json.dumps([output_of(words) for words in json.loads(sys.argv[1])]))
