"""Gives roles from before catalog version 4 a definite answer to whether they have a password.

Then only consensus knew it: a verifier under the role's id, or none. As long as the catalog says no
more than that id, a role whose verifier is lost looks like one without a password.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from reclock.catalog.durable import DurableCatalogState
from reclock.consensus.credentials.passwords import Passwords
from reclock.errors import UpperMismatch


def settle_password_references(catalog: DurableCatalogState, passwords: Passwords) -> None:
    """Every role refers to a verifier of its own, or has no password. Does nothing if that is so
    already."""
    while legacy := [
        role for role in catalog.snapshot().roles.values() if role.password == role.id
    ]:
        tx = catalog.transaction()
        verifiers = passwords.get_all()
        references = {role.id: uuid4().hex for role in legacy if role.id in verifiers}
        # before the catalog names them
        passwords.put({reference: verifiers[id] for id, reference in references.items()})
        for role in legacy:
            tx.update(replace(role, password=references.get(role.id)))
        try:
            catalog.commit_transaction(tx)
        except UpperMismatch:
            # decide again on what another process has committed
            passwords.forget(references.values())
        else:
            passwords.forget(references)
