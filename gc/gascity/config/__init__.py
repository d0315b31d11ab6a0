"""From `city.toml` to the desired city: schema, places, problems, resolution."""
