"""Roles, and who may do what: the statements."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from reclock.catalog.acl import Privilege
from reclock.consensus.credentials.verifiers import stored_password
from reclock.errors import SqlSyntaxError, UnsupportedSql
from reclock.sql.statements.objects.syntax import AlterOwnerStatement
from reclock.sql.statements.roles.privileges_syntax import (
    DefaultPrivilegesStatement,
    DropOwnedStatement,
    MembershipStatement,
    PrivilegesStatement,
    ReassignOwnedStatement,
)
from reclock.sql.statements.roles.syntax import (
    AlterRoleRenameStatement,
    AlterRoleStatement,
    CreateRoleStatement,
    DropRolesStatement,
)
from reclock.sql.statements.session.syntax import SetDefaultStatement
from reclock.sql.statements.show.privileges_syntax import ShowPrivilegesStatement
from reclock.sql.syntax import nodes
from reclock.sql.variable_grammar import VariableParser

_ATTRIBUTES = ("SUPERUSER", "NOSUPERUSER", "LOGIN", "NOLOGIN", "INHERIT")
_SYSTEM_PRIVILEGES = ("CREATEDB", "CREATEROLE", "CREATECLUSTER")
_OTHER_ATTRIBUTES = frozenset(
    {
        "NOINHERIT",
        "NOCREATEDB",
        "NOCREATEROLE",
        "NOCREATECLUSTER",
        "REPLICATION",
        "NOREPLICATION",
        "BYPASSRLS",
        "NOBYPASSRLS",
        "CONNECTION",
        "VALID",
        "IN",
        "ROLE",
        "ADMIN",
    }
)
_OWNED = (
    ("MATERIALIZED", "VIEW"),
    ("SOURCE",),
    ("TABLE",),
    ("VIEW",),
    ("INDEX",),
    ("SECRET",),
    ("CONNECTION",),
    ("SINK",),
    ("SCHEMA",),
    ("DATABASE",),
    ("CLUSTER",),
)
_GRANTED = ("TABLE", "SECRET", "CONNECTION", "SCHEMA", "DATABASE", "CLUSTER")
_PLURALS = {f"{kind}S": kind for kind in _GRANTED}


class RoleParser(VariableParser):
    """Parses roles, privileges and ownership."""

    def _role(self) -> exp.Identifier:
        return self._word("the name of a role")

    def _roles(self) -> list[exp.Identifier]:
        return self._parse_csv(self._role)

    # --- roles ---

    def _create_role(self) -> CreateRoleStatement:
        is_user = self._prev.text.upper() == "USER"
        name = self._role()
        attributes, password = self._role_options()
        if is_user and not {"LOGIN", "NOLOGIN"} & {attribute.name for attribute in attributes}:
            attributes = [exp.Var(this="LOGIN"), *attributes]
        return CreateRoleStatement(this=name, attributes=attributes, password=password)

    def _role_options(self) -> tuple[list[exp.Var], exp.Expr | None]:
        found: dict[str, exp.Var] = {}
        password: exp.Expr | None = None
        self._match_text_seq("WITH")
        while self._curr:
            word = self._curr.text.upper()
            if self._match_text_seq("ENCRYPTED", "PASSWORD") or self._match_text_seq("PASSWORD"):
                if password is not None:
                    raise SqlSyntaxError("conflicting or redundant attributes", position=self._prev.start + 1)
                password = self._password()
                continue
            if word in _SYSTEM_PRIVILEGES:
                raise UnsupportedSql(f"{word} is a privilege, not an attribute", hint=f"GRANT {word} ON SYSTEM TO the role")
            if word in _OTHER_ATTRIBUTES:
                raise UnsupportedSql(f"the attribute {word} is not supported", hint=f"attributes are {', '.join(_ATTRIBUTES)}")
            if not self._match_texts(_ATTRIBUTES):
                self.raise_error("Expected an attribute of a role")
            if word.removeprefix("NO") in {attribute.removeprefix("NO") for attribute in found}:
                raise SqlSyntaxError("conflicting or redundant attributes", position=self._prev.start + 1)
            found[word] = exp.Var(this=word)
        return list(found.values()), password

    def _password(self) -> exp.Expr:
        """What is kept of a password: nothing behind this place ever sees it, and no error repeats it."""
        if self._match(TokenType.NULL):
            return exp.Null()
        if self._curr.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            raise SqlSyntaxError("a password is a string or NULL", position=self._prev.start + 1)
        return exp.Literal.string(stored_password(self._text().name))

    def _alter_role(self) -> nodes.Statement:
        role = self._role()
        if self._match_text_seq("RENAME"):
            self._expect("TO")
            return AlterRoleRenameStatement(this=role, to=self._role())
        if self._match_text_seq("SET"):
            variable, values = self._assignment()
            return SetDefaultStatement(this=variable, role=role, values=values)
        if self._match_text_seq("RESET"):
            return SetDefaultStatement(this=self._variable_or_all(), role=role)
        attributes, password = self._role_options()
        if not attributes and password is None:
            self.raise_error("Expected SET, RESET, RENAME TO or an attribute of a role")
        return AlterRoleStatement(this=role, attributes=attributes, password=password)

    def _alter_system(self) -> SetDefaultStatement:
        if self._match_text_seq("RESET"):
            return SetDefaultStatement(this=self._variable_or_all())
        self._expect("SET")
        variable, values = self._assignment()
        return SetDefaultStatement(this=variable, values=values)

    def _drop_roles(self) -> DropRolesStatement:
        exists = self._match_text_seq("IF", "EXISTS")
        return DropRolesStatement(names=self._roles(), exists=exists)

    # --- ownership ---

    def _alter_owner(self) -> AlterOwnerStatement | None:
        """``kind name OWNER TO role``; None, at the same place, if that is not what is there."""
        start = self._index
        for words in _OWNED:
            if self._match_text_seq(*words):
                kind = " ".join(words)
                name = self._word("the name of a cluster") if kind == "CLUSTER" else self._object_name()
                if self._match_text_seq("OWNER", "TO"):
                    return AlterOwnerStatement(kind=kind, this=name, to=self._role())
                break
        self._retreat(start)
        return None

    def _reassign_owned(self) -> ReassignOwnedStatement:
        self._expect("OWNED", "BY")
        roles = self._roles()
        self._expect("TO")
        return ReassignOwnedStatement(roles=roles, to=self._role())

    def _drop_owned(self) -> DropOwnedStatement:
        roles = self._roles()
        behavior = self._prev.text.upper() if self._match_texts(("CASCADE", "RESTRICT")) else None
        return DropOwnedStatement(roles=roles, behavior=behavior)

    # --- privileges ---

    def _grant(self) -> nodes.Statement:
        return self._change_of_privileges("GRANT")

    def _revoke(self) -> nodes.Statement:
        if self._curr and self._curr.text.upper() in ("GRANT", "ADMIN") and self._next and self._next.text.upper() == "OPTION":
            raise UnsupportedSql(f"{self._curr.text.upper()} OPTION is not supported")
        return self._change_of_privileges("REVOKE")

    def _change_of_privileges(self, verb: str) -> nodes.Statement:
        if self._is_all():
            privileges = None
        else:
            named = self._parse_csv(self._privilege_or_role)
            if not self._match_text_seq("ON", advance=False):
                return MembershipStatement(verb=verb, roles=named, members=self._grantees(verb))
            privileges = [self._privilege(name) for name in named]
        self._expect("ON")
        kind, names = self._targets()
        return PrivilegesStatement(verb=verb, privileges=privileges, kind=kind, names=names, grantees=self._grantees(verb))

    def _is_all(self) -> bool:
        if not self._match_text_seq("ALL"):
            return False
        self._match_text_seq("PRIVILEGES")
        return True

    def _privilege_or_role(self) -> exp.Identifier:
        is_select = self._match(TokenType.SELECT)
        name = exp.to_identifier("select") if is_select else self._word("a privilege or the name of a role")
        if self._match(TokenType.L_PAREN, advance=False):
            raise UnsupportedSql("a privilege on columns is not supported")
        return name

    def _privilege(self, name: exp.Identifier) -> exp.Var:
        if name.args.get("quoted") or name.name.upper() not in Privilege.__members__:
            raise SqlSyntaxError(f'unrecognized privilege "{name.name}"', hint=f"privileges are {', '.join(Privilege.__members__)}")
        return exp.Var(this=name.name.upper())

    def _targets(self) -> tuple[str, list[exp.Expression] | None]:
        """The kind of what privileges are on, and its names."""
        if self._match_text_seq("SYSTEM"):
            return "SYSTEM", None
        if self._match_text_seq("ALL"):
            if not self._match_text_seq("TABLES", "IN", "SCHEMA"):
                self.raise_error("Expected TABLES IN SCHEMA")
            return "ALL TABLES IN SCHEMA", self._parse_csv(self._object_name)
        after = self._next.text.upper() if self._next else ""
        is_name = after in (".", ",", "TO", "FROM")
        kind = self._prev.text.upper() if not is_name and self._match_texts(_GRANTED) else "TABLE"
        if kind == "CLUSTER":
            return kind, self._parse_csv(lambda: self._word("the name of a cluster"))
        return kind, self._parse_csv(self._object_name)

    def _grantees(self, verb: str) -> list[exp.Identifier]:
        self._expect("TO" if verb == "GRANT" else "FROM")
        grantees = self._parse_csv(self._grantee)
        if self._match_text_seq("WITH"):
            raise UnsupportedSql(f"WITH {self._curr.text.upper()} OPTION is not supported")
        return grantees

    def _grantee(self) -> exp.Identifier:
        self._match_text_seq("GROUP")
        return self._role()

    def _alter_default_privileges(self) -> DefaultPrivilegesStatement:
        owners, is_for_all = None, False
        if self._match_text_seq("FOR"):
            if self._match_text_seq("ALL", "ROLES"):
                is_for_all = True
            elif self._match_texts(("ROLE", "USER")):
                owners = self._roles()
            else:
                self.raise_error("Expected ROLE or ALL ROLES")
        within, names = None, None
        if self._match_text_seq("IN"):
            if not self._match_texts(("SCHEMA", "DATABASE")):
                self.raise_error("Expected SCHEMA or DATABASE")
            within = self._prev.text.upper()
            names = self._parse_csv(self._object_name)
        if not self._match_texts(("GRANT", "REVOKE")):
            self.raise_error("Expected GRANT or REVOKE")
        verb = self._prev.text.upper()
        privileges = None if self._is_all() else [self._privilege(name) for name in self._parse_csv(self._privilege_or_role)]
        self._expect("ON")
        if not self._match_texts(_PLURALS):
            self.raise_error(f"Expected {', '.join(_PLURALS)}")
        kind = _PLURALS[self._prev.text.upper()]
        return DefaultPrivilegesStatement(
            owners=owners,
            is_for_all=is_for_all,
            within=within,
            names=names,
            verb=verb,
            privileges=privileges,
            kind=kind,
            grantees=self._grantees(verb),
        )

    # --- SHOW ---

    def _show_privileges(self, is_default: bool) -> ShowPrivilegesStatement:
        kind = None
        if self._match_text_seq("ON"):
            if not self._match_texts((*_PLURALS, "SYSTEM")):
                self.raise_error(f"Expected {', '.join(_PLURALS)} or SYSTEM")
            kind = self._prev.text.upper()
        role = self._role() if self._match_text_seq("FOR") else None
        where = self._parse_disjunction() or self._missing() if self._match_text_seq("WHERE") else None
        return ShowPrivilegesStatement(is_default=is_default, kind=kind, role=role, where=where)
