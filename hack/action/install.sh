#!/usr/bin/env bash
# install.sh: installs Mullion with apt-get, from the packages INPUT_PACKAGE (files or URLs, one a line), or else from the
# release RELEASE_VERSION, whose packages are downloaded to RELEASE_FOLDER unless they are there, and compared with the
# release's checksums.
set -euo pipefail
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
packages=()
if [ -z "$INPUT_PACKAGE" ]; then
  if [ ! -e "$RELEASE_FOLDER/SHA256SUMS" ]; then
    gh release download "$RELEASE_VERSION" --repo "$ACTION_REPOSITORY" --dir "$RELEASE_FOLDER" --pattern 'mullion*_amd64.deb' --pattern SHA256SUMS
  fi
  packages=("$RELEASE_FOLDER"/mullion*_amd64.deb)
  for package in "${packages[@]}"; do
    (cd "$RELEASE_FOLDER" && grep -F "  $(basename "$package")" SHA256SUMS | sha256sum --check --quiet -)
  done
else
  while read -r package; do
    case $package in
      '') continue ;;
      http://* | https://*)
        file=$RUNNER_TEMP/$(basename "${package%%\?*}")
        curl -fsSL --retry 3 -o "$file" "$package"
        packages+=("$file") ;;
      *) packages+=("$(realpath -m "$package")") ;; # apt-get takes a name without a folder for a package of its own
    esac
  done <<<"$INPUT_PACKAGE"
fi
for package in "${packages[@]}"; do
  [ -f "$package" ] || { echo "::error::there is no package $package"; exit 2; }
done
echo "::group::apt-get install ${packages[*]}"
$sudo apt-get -q update
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${packages[@]}"
echo '::endgroup::'
mullion version
echo "version=$(mullion version -o json | sed -n 's/.*"mullion":"\([^"]*\)".*/\1/p')" >>"$GITHUB_OUTPUT"
