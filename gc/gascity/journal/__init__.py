"""The city's durable memory."""
