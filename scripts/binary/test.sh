#!/usr/bin/env bash
# The single executable on a machine that has nothing: a root directory with the C and C++ runtime, /dev and /proc, without
# Node.js, a shell or a network but loopback. It starts there, answers, and leaves nothing behind. Needs root on Linux;
# `npm run build:binary` comes before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
executable=${1:-dist/binary/agent}

if [[ ${INSIDE:-} != yes ]]; then
  [[ -x $executable ]] || { echo "$executable is missing: run npm run build:binary" >&2; exit 1; }
  ((EUID == 0)) || { echo "this test builds a root directory: run it as root" >&2; exit 1; }
  # Mounts, processes and network of its own: whatever happens, they end with it.
  INSIDE=yes exec timeout --kill-after=5 120 unshare --mount --net --pid --fork --kill-child "${BASH_SOURCE[0]}" "$executable"
fi

ip link set lo up
root=$(mktemp -d)
mount -t tmpfs -o size=1g,mode=755 tmpfs "$root"
trap 'umount -l "$root"; rmdir "$root"' EXIT
mkdir -p "$root"/{dev,proc,tmp,root,bin}
mount -t proc proc "$root/proc"
for device in null zero urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
cp "$executable" "$root/bin/agent"
# What Node.js and the engine are linked against, and nothing else.
ldd "$executable" | grep -o '/[^ ]*' | while read -r library; do mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; done

agent() { timeout --kill-after=5 60 env -i HOME=/root "$(command -v chroot)" "$root" /bin/agent "$@"; }
say() { echo "test: $*"; }
fail() { echo "test: $*" >&2; [[ ! -e $root/tmp/start ]] || cat "$root/tmp/start" >&2; exit 1; }

[[ -z $(find "$root" -name 'node*' -not -path "$root/proc/*") ]] || fail "there is a Node.js in the root directory"
version=$(agent --version)
say "agent $version runs where there is: $(cd "$root" && find . -type f -not -path './proc/*' -not -path './root/*' | sort | xargs echo)"

env -i HOME=/root "$(command -v chroot)" "$root" /bin/agent start --no-mdns --log-level warn >"$root/tmp/start" 2>&1 &
for _ in $(seq 300); do
  grep -q '^OpenAI API' "$root/tmp/start" && break
  kill -0 $! 2>/dev/null || fail "agent start ended"
  sleep 0.1
done
grep '^OpenAI API' "$root/tmp/start" || fail "agent start did not come up"
answer=$(agent run kjv-q8_0 "In the beginning" --max-tokens 24 --seed 1)
[[ ${#answer} -gt 20 ]] || fail "no answer: $answer"
say "it answers: In the beginning$(tr '\n' ' ' <<<"$answer")"
agent status | sed -n 1,8p
# A damaged library is put right before it is loaded.
library=$(find "$root/root/.cache/ring-agent" -name 'libllama.v*' | head -1)
[[ $(stat -c %a "$root/root/.cache/ring-agent") == 700 ]] || fail "others can read $root/root/.cache/ring-agent"
echo damaged >"$library"
agent --version >/dev/null
[[ $(stat -c %s "$library") -gt 1000000 ]] || fail "a damaged library was not put right"
agent stop
wait
[[ $(agent status 2>&1) == *"no agent is running"* ]] || fail "the agent still runs"
agent uninstall --yes >/dev/null
[[ -z $(find "$root/root" -mindepth 1 -type f) ]] || fail "agent uninstall leaves $(find "$root/root" -type f | head -3)"
[[ -z $(pgrep -f "^/bin/agent" || true) ]] || fail "processes are left"
say "ok"
