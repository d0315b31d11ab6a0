"""Health: telling a person what needs one."""
