"""A warm process: a ``reclock serve`` that carries out steps of DAGs over HTTP. Imports nothing
heavy."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

DEFAULT_WARM_CONNECTION = "reclock_warm"

_ANSWER_S = 60.0


class WarmProcessGone(Exception):
    """There is no such process, it cannot be reached, or it has forgotten the step: its outcome is
    unknown."""


class WarmProcessRefuses(Exception):
    """The process answers, and does not do what it is asked for."""


@dataclass(frozen=True, slots=True)
class WarmProcess:
    """The process at ``url``, for a role of it. A connection of Airflow of type ``http`` or
    ``https`` names it."""

    url: str
    user: str = "reclock"
    password: str = field(default="", repr=False)
    certificates: str | None = None
    """A PEM file of the certificates to trust instead of the system's."""

    @classmethod
    def of(cls, connection: Any) -> Self:
        """The process that the connection names; ``ca`` in its extra is a file of certificates."""
        schemes = (connection.schema, connection.conn_type)
        scheme = next((scheme for scheme in schemes if scheme in ("http", "https")), "http")
        host = f"[{connection.host}]" if ":" in connection.host else connection.host
        url = f"{scheme}://{host}:{connection.port or 9187}"
        return cls(
            url,
            connection.login or "reclock",
            connection.password or "",
            connection.extra_dejson.get("ca"),
        )

    def start(self, key: str, step: str, arguments: Mapping[str, Any]) -> None:
        """Begin the step, unless it runs. Raises ``WarmProcessGone``, ``WarmProcessRefuses``."""
        self._call(f"/steps/{key}", {"step": step, "arguments": arguments})

    def look(
        self, key: str, *, after: int, wait_s: float
    ) -> tuple[list[str], Mapping[str, Any] | None]:
        """The lines that the step has told after the first ``after``, and its outcome once there is
        one.

        Raises ``WarmProcessGone``, ``WarmProcessRefuses``.
        """
        answer = self._call(f"/steps/{key}?{urlencode({'after': after, 'wait': wait_s})}")
        return answer["lines"], answer["outcome"]

    def _call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        credentials = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        tls = (
            ssl.create_default_context(cafile=self.certificates)
            if self.url.startswith("https:")
            else None
        )
        try:
            request = Request(self.url + path, data, headers)  # noqa: S310 - the URL begins with http, see `of`
            with urlopen(request, timeout=_ANSWER_S, context=tls) as answer:  # noqa: S310
                return json.load(answer)
        except HTTPError as error:
            text = error.read().decode(errors="replace").strip()
            if error.code in (404, 502, 503, 504):
                raise WarmProcessGone(text) from None
            raise WarmProcessRefuses(f"{self.url} answers {error.code}: {text}") from None
        except (OSError, URLError, ValueError) as error:
            raise WarmProcessGone(str(getattr(error, "reason", error))) from None
