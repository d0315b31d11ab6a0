"""The programs of the zoo by name: each does one thing to its input that real tools do."""

from __future__ import annotations

from tests.zoo import closed, odd, timing
from tests.zoo.box import Program

PROGRAMS: dict[str, type[Program]] = {
    "plain": Program,
    "typed-burst": timing.TypedBurst,
    "paste-burst": timing.PasteBurst,
    "late-forgetful": timing.LateForgetful,
    "late-keeping": timing.LateKeeping,
    "late-flushing": timing.LateFlushing,
    "late-dialog": closed.LateDialog,
    "paste-dialog": closed.PasteDialog,
    "limit": closed.Limit,
    "limited-box": closed.LimitedBox,
    "login": closed.Login,
    "alternate": odd.Alternate,
    "quoting": odd.Quoting,
    "wide": odd.Wide,
    "sleeper": timing.Sleeper,
    "draft": closed.Draft,
    "shell": odd.Shell,
    "slash": odd.Slash,
    "completing": odd.Completing,
    "folding": odd.Folding,
    "hinting": odd.Hinting,
    "queueing": odd.Queueing,
    "deaf": timing.Deaf,
    "first-enter": timing.FirstEnter,
    "flickering": timing.Flickering,
    "slow": timing.Slow,
    "crash": closed.Crash,
    "permission": closed.Permission,
    "slow-permission": closed.SlowPermission,
    "stalling": closed.Stalling,
    "doubtful": closed.Doubtful,
    "menu": closed.Menu,
    "overtaken": closed.Overtaken,
    "growing": odd.Growing,
}
