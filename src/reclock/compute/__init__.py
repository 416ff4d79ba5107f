"""Compute: the typed relational plan, its operators, and the engines that run it."""
