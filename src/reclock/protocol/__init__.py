"""All that the control plane and the executing plane say to each other: values, and who understands them.

*Deterministic* commands follow from the catalog alone, are sent in its order, and may be sent again; ``AdvanceCatalogFrontier``
ends them. *Ephemeral* ones come from a client or a tick; a peek names the time of the catalog it was planned at.
"""
