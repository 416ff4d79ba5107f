"""System relations: what an environment tells about itself, as rows."""
