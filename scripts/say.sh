# Sourced by the other scripts: prints one short line per step, "[2/4] build ........... 3 min 12 s".
# STEP ("[2/4] ") comes from the Makefile and may be empty.

say() {  # say SUBJECT TEXT...
  local subject="${STEP:-}$1 " dots="......................"
  shift
  printf '%s%s %s\n' "$subject" "${dots:0:$((${#dots} > ${#subject} ? ${#dots} - ${#subject} : 3))}" "$*"
}

die() {  # die TEXT...: one line to standard error, exit 1
  printf 'error: %s\n' "$*" >&2
  exit 1
}

step() {  # step COMMAND...: runs it, output in the file $log; on failure prints its end and exits with 1
  "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed: $* (whole log: $log)"; }
}

duration() {  # duration SECONDS -> "3 min 12 s"
  if (($1 >= 60)); then echo "$(($1 / 60)) min $(($1 % 60)) s"; else echo "$1 s"; fi
}
