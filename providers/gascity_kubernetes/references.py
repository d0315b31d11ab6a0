"""What a pod takes from the cluster: secrets, volumes, and the nodes it may stand on."""

from __future__ import annotations

from dataclasses import dataclass

from gascity_kubernetes.tables import Table, is_object_name, is_variable

_SOURCES = ("secret", "config_map", "claim", "empty_dir", "host_path")


@dataclass(frozen=True, slots=True)
class Toleration:
    """A taint of nodes that does not keep a pod away."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    @classmethod
    def read(cls, table: Table) -> Toleration:
        """Return what a table says; raises ConfigError."""
        table.only(("key", "operator", "value", "effect", "toleration_seconds"))
        operator = table.choice("operator", ("Equal", "Exists"), "Equal")
        effects = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
        effect = table.choice("effect", effects, "")
        found = cls(table.text("key"), operator, table.text("value"), effect)
        if not found.key and operator != "Exists":
            raise table.wrong("key", 'may only be left out where operator = "Exists"')
        if found.value and operator == "Exists":
            raise table.wrong("value", 'makes no sense where operator = "Exists"')
        if "toleration_seconds" not in table.values:
            return found
        if effect != "NoExecute":
            raise table.wrong("toleration_seconds", 'needs effect = "NoExecute"')
        seconds = table.number("toleration_seconds", 0, 0, 2**31)
        return cls(found.key, operator, found.value, effect, seconds)


@dataclass(frozen=True, slots=True)
class EnvFrom:
    """A secret or a config map whose every key becomes an environment variable."""

    secret: str = ""
    config_map: str = ""
    optional: bool = False
    prefix: str = ""

    @classmethod
    def read(cls, table: Table) -> EnvFrom:
        """Return what a table says; raises ConfigError."""
        table.only(("secret", "config_map", "optional", "prefix"))
        table.one_of(("secret", "config_map"))
        prefix = table.text("prefix")
        if prefix and not is_variable(prefix):
            raise table.wrong("prefix", f'cannot begin a variable\'s name: "{prefix}"')
        return cls(
            table.object_name("secret"),
            table.object_name("config_map"),
            table.flag("optional"),
            prefix,
        )


@dataclass(frozen=True, slots=True)
class SecretEnv:
    """One key of a secret as one environment variable."""

    name: str
    secret: str
    key: str

    @classmethod
    def read_all(cls, table: Table, key: str) -> tuple[SecretEnv, ...]:
        """Return what a table of NAME = "secret/key" says; raises ConfigError."""
        found = []
        for name, place in table.pairs(key):
            if not is_variable(name):
                raise table.wrong(key, f'has "{name}", which cannot be a variable\'s name')
            secret, slash, inner = place.partition("/")
            if not slash or not is_object_name(secret) or not inner or "/" in inner:
                raise table.wrong(key, f'must say {name} = "secret/key", not "{place}"')
            found.append(cls(name, secret, inner))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume and where it is mounted; exactly one of the sources is set."""

    name: str
    mount: str
    secret: str = ""
    config_map: str = ""
    claim: str = ""
    empty_dir: bool = False
    host_path: str = ""
    read_only: bool = False
    sub_path: str = ""

    @classmethod
    def read(cls, table: Table) -> Volume:
        """Return what a table says; raises ConfigError."""
        table.only(("name", "mount", *_SOURCES, "read_only", "sub_path"))
        for key in ("name", "mount"):
            if not table.values.get(key):
                raise table.wrong(key, "is missing")
        source = table.one_of(_SOURCES)
        sub_path = table.text("sub_path")
        if sub_path.startswith("/") or ".." in sub_path.split("/"):
            raise table.wrong("sub_path", f'must lie within the volume, not "{sub_path}"')
        return cls(
            name=table.label("name"),
            mount=table.path("mount"),
            secret=table.object_name("secret"),
            config_map=table.object_name("config_map"),
            claim=table.object_name("claim"),
            empty_dir=table.flag("empty_dir"),
            host_path=table.path("host_path") if source == "host_path" else "",
            read_only=table.flag("read_only"),
            sub_path=sub_path,
        )
