"""How far collections are complete, who may append to them, and who still reads them."""
