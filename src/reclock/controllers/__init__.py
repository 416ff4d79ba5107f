"""The control plane: what the catalog implies, as commands to those who carry it out."""
