# Runs in the root of a new guest, once its packages are there: what an installer and an administrator would write.
# NAME is the machine's, AUTHORIZED_KEY may log in.
echo "$NAME" >/etc/hostname
printf '127.0.0.1\tlocalhost\n127.0.1.1\t%s\n' "$NAME" >/etc/hosts
cat >/etc/fstab <<END
/dev/vda / ext4 errors=remount-ro 0 1
LABEL=mullion /opt/mullion ext4 ro 0 0
END
mkdir -p /opt/mullion
# qemu's own network: https://www.qemu.org/docs/master/system/devices/net.html#using-the-user-mode-network-stack
cat >/etc/systemd/network/10-machine.network <<END
[Match]
Name=en* eth*
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
DNS=10.0.2.3
END
echo 'nameserver 10.0.2.3' >/etc/resolv.conf
# The console is a file; nobody logs in there.
systemctl -q enable systemd-networkd ssh
systemctl -q mask serial-getty@ttyS0.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer man-db.timer e2scrub_all.timer
useradd -m -s /bin/bash -G sudo dev
echo 'dev ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/dev
for home in /root /home/dev; do
  mkdir -m 700 -p $home/.ssh
  echo "$AUTHORIZED_KEY" >$home/.ssh/authorized_keys
done
chown -R dev:dev /home/dev
cat >/etc/ssh/sshd_config.d/machine.conf <<END
UseDNS no
LoginGraceTime 10m
END
# As a distribution's package puts it on PATH.
ln -s /opt/mullion/bin/mullion /usr/local/bin/mullion
