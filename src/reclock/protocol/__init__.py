"""The protocol between the control plane and the executing plane: its values, and the interfaces of
both sides.

*Deterministic* commands follow from the catalog alone, are sent in its order, and may be repeated;
``AdvanceCatalogFrontier`` ends them. *Ephemeral* commands come from a client or a tick; a peek
names the catalog's time at which it was planned.
"""
