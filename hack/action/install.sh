#!/usr/bin/env bash
# install.sh: installs Mullion with apt-get, from the package INPUT_PACKAGE (a file or a URL), or else from the release
# RELEASE_VERSION, whose package is downloaded to RELEASE_FOLDER unless it is there, and compared with the release's checksums.
set -euo pipefail
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
case $INPUT_PACKAGE in
  '')
    package=$(find "$RELEASE_FOLDER" -name 'mullion_*_amd64.deb' -print -quit 2>/dev/null || true)
    if [ -z "$package" ]; then
      gh release download "$RELEASE_VERSION" --repo "$ACTION_REPOSITORY" --dir "$RELEASE_FOLDER" --pattern 'mullion_*_amd64.deb' --pattern SHA256SUMS
      package=$(find "$RELEASE_FOLDER" -name 'mullion_*_amd64.deb' -print -quit)
    fi
    (cd "$RELEASE_FOLDER" && grep -F "  $(basename "$package")" SHA256SUMS | sha256sum --check --quiet -)
    ;;
  http://* | https://*)
    package=$RUNNER_TEMP/mullion.deb
    curl -fsSL --retry 3 -o "$package" "$INPUT_PACKAGE"
    ;;
  *) package=$(realpath -m "$INPUT_PACKAGE") ;; # apt-get takes a name without a folder for a package of its own
esac
[ -f "$package" ] || { echo "::error::there is no package $package"; exit 2; }
echo "::group::apt-get install $package"
$sudo apt-get -q update
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$package"
echo '::endgroup::'
mullion version
echo "version=$(mullion version -o json | sed -n 's/.*"mullion":"\([^"]*\)".*/\1/p')" >>"$GITHUB_OUTPUT"
