"""Roles, memberships and the defaults of variables; privileges; owners."""
