"""What a terminal shows: rules as data, and what they say about a screen."""
