"""A city's controller as a service of its user: a systemd unit or a launchd agent.

`unit` and `plist` are pure and make the text; `systemd` and `launchd` talk to the service manager
of the machine; `installed` finds, writes and removes the files. The agents are no part of the
service: it may be stopped, restarted and removed while they go on.
"""
