"""What runs inside a pod: its first process, and the `gc` that an agent finds there.

The first process starts a tmux server and waits. Nothing of the agent runs until its session is
made, which is the last step of staging. When the agent ends, so does the pod: how it ended and its
last screen are written into the termination message, all it showed to the log. Only sh, tmux, tar
and the common small tools have to be in the image.
"""

from __future__ import annotations

from gascity.core.observed import DRAIN, DRAINED, RESTART_REQUESTED

HOME = "/run/gascity"
SOCKET = f"{HOME}/tmux"
TOKEN = f"{HOME}/token"
WAITING = f"{HOME}/waiting"
BEGUN = f"{HOME}/begun"
SESSION = "main"
PANE = "%0"  # the first pane of a fresh server
MESSAGE = "/dev/termination-log"
MOST_WORDS = 3600  # bytes; Kubernetes keeps 4096 of a termination message, the last ones
STAGING = 900  # seconds until a pod that nobody makes use of ends by itself
GIVEN_UP = 75
MIRRORED = frozenset({DRAIN, DRAINED, RESTART_REQUESTED})
"""The keys of metadata that an agent may ask for inside, each in a file of its own."""
TOLD = (DRAINED, RESTART_REQUESTED)
"""What an agent may say from inside."""

_SHIM = f"""#!/bin/sh
# The gc inside a pod: what an agent can ask and say about itself, through files.
run=${{GC_RUN:-}} flag={HOME}/meta/{DRAIN}
asked() {{ [ -f "$flag" ] && [ "$(cat "$flag")" = "$run" ]; }}
quiet=
case "${{2:-}}" in -q|--quiet) quiet=1;; esac
case "${{1:-}}" in
  drain-check)
    if asked; then [ -n "$quiet" ] || echo drain; exit 0; fi
    [ -n "$quiet" ] || echo "go on"
    exit 1;;
  drain-ack)
    asked || {{ echo "error: $GC_AGENT was not asked to drain" >&2; exit 1; }}
    printf %s "$run" >{HOME}/told/.new && mv {HOME}/told/.new {HOME}/told/{DRAINED}
    echo "$GC_AGENT: has drained; it is stopped soon";;
  request-restart)
    ! asked || {{ echo "error: $GC_AGENT is asked to drain, so it is not replaced" >&2; exit 1; }}
    printf %s "$run" >{HOME}/told/.new && mv {HOME}/told/.new {HOME}/told/{RESTART_REQUESTED}
    echo "$GC_AGENT: run $run is to be replaced";;
  *)
    echo "error: inside a pod gc knows drain-check, drain-ack and request-restart" >&2
    exit 2;;
esac
"""

_ENTRY = r"""
umask 077
d=@HOME@
mkdir -p "$d/meta" "$d/told" "$d/bin" || exit 78
ended= asked= mine=
read -r self rest </proc/self/stat  # Kubernetes makes one dollar of two
{ read -r mine </proc/self/cgroup; } 2>/dev/null
trap 'ended=1' USR2
trap 'asked=1' TERM INT HUP
say() { printf 'gc: %s\n' "$1" >@MESSAGE@ 2>/dev/null; }
nap() { sleep "$1" & nap=$!; wait "$nap"; kill "$nap" 2>/dev/null; }
mux() { tmux -u -S @SOCKET@ "$@" 2>/dev/null; }
pane() { mux display-message -p -t @PANE@ "$1"; }
command -v tmux >/dev/null || { say "there is no tmux in its image"; exit 127; }
# A bash may need a file for this, and the root of the pod may be read-only.
(TMPDIR=$d; cat >"$d/bin/gc" <<'SHIM'
@SHIM@SHIM
)
chmod 755 "$d/bin/gc"
term=screen-256color
for one in /usr/share/terminfo /lib/terminfo /etc/terminfo /usr/lib/terminfo; do
  [ ! -e "$one/t/tmux-256color" ] || term=tmux-256color
done
PATH="$PATH:$d/bin" mux -f /dev/null start-server \; \
  set-option -s exit-empty off \; set-option -s exit-unattached off \; \
  set-option -g update-environment '' \; set-option -g default-terminal "$term" \; \
  set-option -g history-limit @HISTORY@ \; set-option -g remain-on-exit on \; \
  set-option -gq remain-on-exit-format '' \; set-option -g window-size latest
# A person who is attached can close the pane as well, or all there is.
for one in pane-died after-kill-pane window-unlinked session-closed; do
  mux set-hook -g "$one" "run-shell -b 'kill -USR2 $self'"
done
server=$(mux display-message -p '#{pid}')
[ -n "$server" ] || { say "its tmux cannot be started"; exit 70; }
printf '%s\n' '@TOKEN@' >"$d/token"
: >"$d/waiting"
left=@STAGING@
while [ -z "$asked$ended" ] && [ ! -e "$d/begun" ]; do
  [ "$left" -gt 0 ] || { say "nobody started an agent in it"; exit @GIVEN_UP@; }
  nap 2
  left=$((left - 2))
done
# While tmux notes a terminal in the list of logins it is deaf for the ends of its children.
while [ -z "$asked" ] && kill -CHLD "$server" 2>/dev/null; do
  [ -n "$ended" ] || { nap 2; continue; }
  ended=
  case "$(mux display-message -p asked \; display-message -p -t @PANE@ '#{pane_dead}')" in
    *0) ;;
    '') ended=1; sleep 0.5 ;;  # it could not be asked, so nothing is known
    *) break ;;
  esac
done
others() {
  found=
  for one in /proc/[0-9]*; do
    one=${one#/proc/}
    case "$one" in 1 | "$self" | "$server") continue ;; esac
    { read -r line <"/proc/$one/stat"; } 2>/dev/null || continue
    case "${line##*) }" in Z*) continue ;; esac
    # Where a pod shares its processes, those of other containers are seen and not touched.
    group=
    { read -r group <"/proc/$one/cgroup"; } 2>/dev/null
    case "$group" in */../*) ;; "$mine"*) found="$found $one" ;; esac
  done
}
# The signal that will be heard: an interactive shell ignores TERM.
heard() {
  heard=TERM
  while read -r line; do
    case "$line" in SigIgn:*[4-7c-f]???) heard=HUP ;; esac
  done <"/proc/$1/status"
}
if [ -n "$asked" ]; then
  others
  for one in $found; do heard "$one"; kill "-$heard" "$one"; kill -CONT "$one"; done 2>/dev/null
  while kill -CHLD "$server" 2>/dev/null && others && [ -n "$found" ]; do sleep 0.05; done
fi
for one in 1 2 3 4 5 6 7 8 9 10; do
  how=$(pane '#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}')
  case "$how" in '1||') kill -CHLD "$server"; sleep 0.1 ;; *) break ;; esac
done
rest=${how#*|} code=${how#*|} code=${code%%|*} signal=${rest#*|}
mux capture-pane -p -J -t @PANE@ -S -
words=$(mux capture-pane -p -t @PANE@ -S -)
if [ -n "$code" ]; then
  said="exited $code"
elif [ -n "$signal" ]; then
  said="killed $signal" code=$((128 + signal))
elif [ -n "$asked" ]; then
  said="it was asked to end" code=143
elif kill -0 "$server" 2>/dev/null; then
  said="its terminal was closed" code=129
else
  said="its tmux ended" code=70
fi
{ printf 'gc: %s\n' "$said"; printf '%s' "$words" | tail -c @MOST@; } >@MESSAGE@
exit "$code"
"""


def script(token: str, history: int) -> str:
    """Return the script of a pod's first process.

    `token` is what it is known by, `history` how many lines are kept of what its agent shows.
    """
    values = {
        "HOME": HOME,
        "SOCKET": SOCKET,
        "PANE": PANE,
        "TOKEN": token,
        "MESSAGE": MESSAGE,
        "SHIM": _SHIM,
        "HISTORY": str(history),
        "STAGING": str(STAGING),
        "GIVEN_UP": str(GIVEN_UP),
        "MOST": str(MOST_WORDS),
    }
    text = _ENTRY
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
