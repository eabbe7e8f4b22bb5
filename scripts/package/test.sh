#!/usr/bin/env bash
# The npm package as a stranger gets it: packed, installed into an empty directory (from npm's cache where it has what is
# needed), started by npx, asked, stopped, uninstalled. It must run after `npm ci`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
directory=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2>/dev/null || true; rm -rf "$directory"' EXIT
say() { echo "test: $*"; }
fail() { echo "test: $*" >&2; [[ ! -e $directory/start ]] || cat "$directory/start" >&2; exit 1; }

npm pack --silent --pack-destination "$directory" >/dev/null
[[ ! -e npm-shrinkwrap.json ]] || fail "npm-shrinkwrap.json was left in $root"
tarball=$(echo "$directory"/*.tgz)
contents=$(tar -tzf "$tarball")
for file in package.json npm-shrinkwrap.json README.md LICENSE THIRD-PARTY-NOTICES models/kjv-q8_0.gguf dist/program/src/cli/main.js dist/program/src/runner/main.js dist/program/src/dashboard/index.html; do
  grep -qx "package/$file" <<<"$contents" || fail "the package lacks $file"
done
if strange=$(grep -E '^package/(src|test|scripts|dist/(src|test|scripts|binary))/|\.map$|tsbuildinfo' <<<"$contents"); then fail "the package has what nobody needs: $(head -3 <<<"$strange")"; fi
# Who installs the published package gets the versions that were tested.
tar -xzOf "$tarball" package/npm-shrinkwrap.json | node -e "
  const shipped = JSON.parse(require('node:fs').readFileSync(0, 'utf8')).packages;
  for (const [path, { version, dev }] of Object.entries(require('$root/package-lock.json').packages)) {
    if (dev ? path in shipped : shipped[path]?.version !== version) throw new Error(path + ' ' + version + ' is not in the package as it is here');
  }"
say "$(basename "$tarball"): $(wc -l <<<"$contents") files, $(du -h "$tarball" | cut -f1)"

mkdir "$directory/empty" "$directory/home"
cd "$directory/empty"
npm install --silent --prefer-offline --no-audit --no-fund "$tarball"
export RING_AGENT_STATE=$directory/state
[[ $(npx --no-install agent --version) == "$(node -p "require('$root/package.json').version")" ]] || fail "npx agent --version says $(npx --no-install agent --version)"
npx --no-install agent start --no-mdns --cluster "package-$$" --listen 127.0.0.1:0 --api-port 0 --log-level warn >"$directory/start" 2>&1 &
for _ in $(seq 300); do
  grep -q '^OpenAI API' "$directory/start" && break
  kill -0 $! 2>/dev/null || fail "agent start ended"
  sleep 0.1
done
answer=$(npx --no-install agent run kjv-q8_0 "In the beginning" --max-tokens 24 --seed 1)
[[ ${#answer} -gt 20 ]] || fail "no answer: $answer"
say "it answers: In the beginning$(tr '\n' ' ' <<<"$answer")"
npx --no-install agent stop
wait
npm uninstall --silent ring-agent
left=$(find node_modules -type f -not -name .package-lock.json)
[[ -z $left ]] || fail "npm uninstall leaves $left"
say ok
