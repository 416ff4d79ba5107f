"""The pages about an environment that people open: the overview, one page an object, decisions
about stalled sources, data docs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from reclock.adapter.query.overview import docs_folder, object_of, overview_of
from reclock.adapter.session.session import Session
from reclock.errors import ReclockError, UnknownRelation
from reclock.introspection.overview import ObjectDetail, WayOut
from reclock.introspection.page import (
    FOLLOW_THEME,
    render,
    render_confirmation,
    render_data_docs,
    render_missing,
    render_object,
    render_refusal,
    render_unreadable,
)
from reclock.introspection.page_query import PageQuery
from reclock.runtime.environment import Environment

_log = structlog.get_logger(__name__)
_OBJECT = re.compile(r"object/(?P<id>\w+)(?:/(?P<way>\d+))?")
_DOCS = "data-docs/"
_STATIC = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'self'"
)
_SCRIPT_HASH = base64.b64encode(hashlib.sha256(FOLLOW_THEME.encode()).digest()).decode()
_POLICY = f"{_STATIC}; script-src 'sha256-{_SCRIPT_HASH}'"
_DOCS_POLICY = f"{_STATIC}; script-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """An answer: HTML, or a redirect to ``location``."""

    html: str = ""
    status: HTTPStatus = HTTPStatus.OK
    policy: str = _POLICY
    location: str | None = None


def unreadable_page(error: ReclockError) -> HtmlPage:
    """The answer if ``error`` keeps every page from being shown."""
    return HtmlPage(render_unreadable(error), HTTPStatus.SERVICE_UNAVAILABLE)


class Pages:
    """The pages below ``root``, which ends in a slash. ``secret`` makes the tokens that prove that
    a form is ours."""

    def __init__(self, environment: Environment, *, root: str, secret: bytes) -> None:
        self._environment, self._root, self._secret = environment, root, secret

    def get(self, path: str, user: str, parameters: Mapping[str, str] | None = None) -> HtmlPage:
        """The page at ``path`` below the root, for ``user``, with the parameters of the address.
        Raises ``ReclockError`` if the stores cannot be read."""
        if path in ("", "overview"):
            query = PageQuery.of(parameters or {})
            return HtmlPage(render(overview_of(self._environment), query, root=self._root))
        if path.startswith(_DOCS):
            return self._data_docs(path.removeprefix(_DOCS))
        detail, way_out = self._located(path)
        if detail is None:
            return self._missing()
        if way_out is not None:
            return HtmlPage(
                render_confirmation(detail, way_out, root=self._root, token=self._token(user))
            )
        return HtmlPage(render_object(detail, self._environment.stores.clock(), root=self._root))

    def decide(self, path: str, form: Mapping[str, str], user: str, *, role: str) -> HtmlPage:
        """Execute the statement of the way out at ``path``, as ``role``, if the form was filled in
        on our page by ``user`` and the source still offers that statement. Returns a redirect to
        the source's page."""
        detail, _ = self._located(path)
        if detail is None:
            return self._missing()
        back = f"{self._root}object/{detail.object.id}"
        if not hmac.compare_digest(form.get("token", "").encode(), self._token(user).encode()):
            return _refused("this form is too old, or not from here", HTTPStatus.FORBIDDEN, back)
        offered = {way.statement for way in detail.object.ways_out}
        if (statement := form.get("statement")) not in offered:
            reason = "the source does not wait for this decision any more"
            return _refused(reason, HTTPStatus.CONFLICT, back)
        try:
            list(Session(self._environment, user=role).execute(statement))
        except ReclockError as error:
            return _refused(error, HTTPStatus.CONFLICT, back)
        _log.info("decision about a source", user=user, role=role, statement=statement)
        return HtmlPage(status=HTTPStatus.SEE_OTHER, location=back)

    def _located(self, path: str) -> tuple[ObjectDetail | None, WayOut | None]:
        """The object and the way out that a path names. Either is None if it does not exist (any
        more)."""
        match = _OBJECT.fullmatch(path)
        if match is None:
            return None, None
        try:
            detail = object_of(self._environment, match["id"])
        except UnknownRelation:
            return None, None
        ways = detail.object.ways_out
        number = int(match["way"]) if match["way"] else len(ways)
        return detail, ways[number] if number < len(ways) else None

    def _data_docs(self, page: str) -> HtmlPage:
        root = docs_folder(self._environment).resolve()
        path = (root / page).resolve()
        if not path.is_relative_to(root) or path.suffix != ".html" or not path.is_file():
            return self._missing()
        html = render_data_docs(path.read_text(), root=self._root)
        return HtmlPage(html, policy=_DOCS_POLICY)

    def _missing(self) -> HtmlPage:
        return HtmlPage(render_missing(root=self._root), HTTPStatus.NOT_FOUND)

    def _token(self, user: str) -> str:
        return hmac.digest(self._secret, user.encode(), hashlib.sha256).hex()


def _refused(reason: ReclockError | str, status: HTTPStatus, back: str) -> HtmlPage:
    return HtmlPage(render_refusal(reason, back=back), status)
