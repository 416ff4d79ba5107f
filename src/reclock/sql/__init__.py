"""The path of a statement up to its plan: text, names, types, plan. Pure: no clock, no engine, no driver."""
