#!/usr/bin/env bash
# logs.sh: writes the cluster's logs into a folder that the runner's user can read, and what became of it into the job's summary.
set -euo pipefail
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
folder=$RUNNER_TEMP/mullion-logs
$sudo mullion export logs "$folder"
$sudo chown -R "$(id -u):$(id -g)" "$folder"
{
  echo '### Mullion at the end of the job'
  echo '```'
  cat "$folder/status.txt"
  echo '```'
} >>"$GITHUB_STEP_SUMMARY"
echo "folder=$folder" >>"$GITHUB_OUTPUT"
