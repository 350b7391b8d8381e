#!/usr/bin/env bash
# release.sh: says which release of Mullion the action installs, and in which folder it is kept between jobs.
# INPUT_VERSION, or else the tag ACTION_REF of the action's repository, or else the newest release.
set -euo pipefail
version=$INPUT_VERSION
if [ -z "$version" ] && [[ $ACTION_REF =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then version=$ACTION_REF; fi
if [ -z "$version" ]; then
  version=$(gh release view --repo "$ACTION_REPOSITORY" --json tagName --jq .tagName)
fi
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$ ]] || { echo "::error::version '$version' is no release of Mullion: give one like v0.1.0"; exit 2; }
printf 'version=%s\nfolder=%s\n' "$version" "$RUNNER_TEMP/mullion-$version" >>"$GITHUB_OUTPUT"
