"""What decides: pure functions over values. No I/O, no clock, no logging."""
