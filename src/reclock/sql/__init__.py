"""From the text of a statement to its plan: parsing, names, types. Pure: no clock, no engine, no
driver."""
