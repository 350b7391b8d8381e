# Runs in the root of a new guest: installs its packages.
# KERNEL_FROM is the suite of the kernel, PACKAGES what to install beside it.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# Nothing is started while packages are installed.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
if [ "$KERNEL_FROM" != "$SUITE" ]; then
  # The same server that the root came from, which debootstrap wrote down.
  sed -n "s/ $SUITE / $KERNEL_FROM /p" /etc/apt/sources.list >/etc/apt/sources.list.d/kernel.list
fi
# What a power failure would cost here is a minute.
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/unsafe-io
apt-get -q update
# shellcheck disable=SC2086 # a list
apt-get -q install -y --no-install-recommends $PACKAGES
apt-get -q install -y --no-install-recommends -t "$KERNEL_FROM" linux-image-cloud-amd64
rm /usr/sbin/policy-rc.d /etc/dpkg/dpkg.cfg.d/unsafe-io
