"""A repository with a bare origin, agents that are shell scripts, and the real `gc` beside them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.conftest import BIN
from tests.cli.place import Place

READY = 'git commit -q --allow-empty -m "resolve it" -m "$COCODE_READY_MARKER"'
Document = dict[str, Any]  # Any: as JSON gives it


class Workshop(Place):
    """Somebody with a clone of a repository, who gives issues to agents."""

    def __init__(self, folder: Path, *, files: int = 3) -> None:
        super().__init__(folder)
        self.agents = self.folder / "agents"
        self.agents.mkdir()
        self.origin = self.folder / "origin.git"
        self.trees = self.folder / "state" / "gascity" / "worktrees"
        self.set("user.name", "Ada Person")
        self.set("user.email", "ada@example.com")
        self.set("init.defaultBranch", "main")
        self.git("init", "-q", "--bare", str(self.origin), cwd=self.folder)
        self.git("init", "-q")
        self.git("remote", "add", "origin", str(self.origin))
        for number in range(files):
            path = self.work / f"part-{number % 50}" / f"file-{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{number}\n" * 5)
        (self.work / "main.py").write_text('print("hello")\n')
        self.commit("the first commit")
        self.git("push", "-q", "origin", "main")
        self.git("remote", "set-head", "origin", "main")
        self.issue("bug", "Fix the bug in main.py")

    def set(self, key: str, value: str) -> None:
        """Change a setting of the person's."""
        self.git("config", "--global", key, value, cwd=self.folder)

    def git(
        self, *words: str, cwd: Path | str | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """Return what git prints; it must end well."""
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.work,
            env=self.env(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, message: str, cwd: Path | None = None) -> str:
        """Commit all there is, and return the commit."""
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "--allow-empty", "-m", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def issue(self, name: str, text: str) -> Path:
        """Write down an issue, and return its file."""
        path = self.folder / f"{name}.md"
        path.write_text(text, "utf-8")
        return path

    def agent(self, name: str, script: str, shell: str = "#!/bin/sh -e") -> str:
        """Make an agent, and return how it is called."""
        path = self.agents / name
        path.write_text(f"{shell}\n{script}\n")
        path.chmod(0o755)
        return str(path)

    def solve(
        self,
        *agents: str,
        issue: str = "bug",
        options: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> tuple[int, Document]:
        """Have agents work on an issue; return what it ended with, and its document."""
        done = self.gc(*self.words(*agents, issue=issue, options=options), "--json", env=env)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, done.stderr.decode()
        assert lines[-1]["event"] == "end", lines[-1]
        return done.returncode, lines[-1]

    def words(
        self, *agents: str, issue: str = "bug", options: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return the words that have agents work on an issue."""
        named = [word for agent in agents for word in ("--agent", agent)]
        return ("solve", str(self.folder / f"{issue}.md"), *named, *options)

    def status(self, issue: str = "bug") -> Document:
        """Return how the last attempt at an issue stands."""
        done = self.gc("solve", "status", issue, "--json")
        assert done.returncode == 0, done.stderr.decode()
        (found,) = json.loads(done.stdout)["solves"]
        document: Document = found
        return document

    def states(self, issue: str = "bug") -> dict[str, str]:
        """Return the state of each agent."""
        return {one["agent"]: one["state"] for one in self.status(issue)["agents"]}

    def trees_of(self, issue: str = "bug") -> dict[str, Path]:
        """Return the worktree of each agent."""
        return {one["agent"]: Path(one["worktree"]) for one in self.status(issue)["agents"]}

    def hook(self, name: str, script: str) -> None:
        """Give the repository a hook."""
        path = self.work / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def without_gh(self) -> dict[str, str]:
        """Return an environment in which there is no `gh`, whatever the machine has."""
        folder = self.folder / "no-gh"
        folder.mkdir()
        for name in ("git", "sh", "env"):
            (folder / name).symlink_to(str(shutil.which(name)))
        return {"PATH": f"{BIN}:{folder}"}

    def seen(self) -> tuple[str, ...]:
        """Return all of the repository that nobody but its owner may change."""
        index = (self.work / ".git" / "index").read_bytes().hex()
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)")
        own = "\n".join(line for line in refs.splitlines() if not line.startswith("refs/heads/gc/"))
        head = (self.work / ".git" / "HEAD").read_text()
        config = (self.work / ".git" / "config").read_text()
        return self.git("--no-optional-locks", "status", "--porcelain"), index, own, head, config

    def litter(self) -> list[str]:
        """Return what is left of attempts, but for the records of runs."""
        found = [str(path) for path in self.trees.rglob("*")] if self.trees.exists() else []
        solves = self.home / "solves"
        found += [str(path) for path in solves.rglob("*")] if solves.exists() else []
        admin = self.work / ".git" / "worktrees"
        found += [str(path) for path in admin.iterdir()] if admin.exists() else []
        found += self.git("for-each-ref", "--format=%(refname)", "refs/heads/gc").split()
        locks = (self.work / ".git" / "refs" / "heads" / "gc").rglob("*.lock")
        return [*found, *map(str, locks), *self.marks()]
