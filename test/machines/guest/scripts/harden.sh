# Runs in the root of a guest after setup.sh: what the hardening guides ask of a server, and what Ubuntu has by default.
# FIREWALL is the package whose rules are in force.
for dir in /tmp /dev/shm; do
  echo "tmpfs $dir tmpfs noexec,nosuid,nodev 0 0" >>/etc/fstab
done
echo '/var/tmp /var/tmp none bind,noexec,nosuid,nodev 0 0' >>/etc/fstab
# /run has these options from Debian's initramfs; here they also survive a remount.
echo 'tmpfs /run tmpfs noexec,nosuid,nodev,mode=0755,size=20% 0 0' >>/etc/fstab
cat >/etc/sysctl.d/90-hardened.conf <<END
# Those that begin with a minus are not in every kernel.
-kernel.unprivileged_userns_clone = 0
-kernel.apparmor_restrict_unprivileged_userns = 1
-kernel.yama.ptrace_scope = 1
kernel.kptr_restrict = 2
kernel.dmesg_restrict = 1
kernel.unprivileged_bpf_disabled = 2
fs.protected_regular = 2
fs.protected_fifos = 2
net.ipv4.conf.default.rp_filter = 1
net.ipv4.conf.all.rp_filter = 1
net.ipv4.ip_forward = 0
END
# A locale with a comma in its numbers, a time zone with half hours, and the umask of the guides.
echo 'de_DE.UTF-8 UTF-8' >>/etc/locale.gen
locale-gen >/dev/null
echo 'LANG=de_DE.UTF-8' >/etc/default/locale
ln -sf /usr/share/zoneinfo/Asia/Kolkata /etc/localtime
echo Asia/Kolkata >/etc/timezone
sed -i 's/^UMASK.*/UMASK 027/' /etc/login.defs
echo 'umask 027' >/etc/profile.d/umask.sh
# A session's processes end with it, as systemd has it where Debian does not.
mkdir -p /etc/systemd/logind.conf.d
printf '[Login]\nKillUserProcesses=yes\n' >/etc/systemd/logind.conf.d/kill.conf
# Images made by debootstrap alone have none.
rm -f /etc/hosts
case $FIREWALL in
ufw)
  # "ufw enable" wants a running kernel; these are the files it writes.
  sed -i 's/^ENABLED=.*/ENABLED=yes/' /etc/ufw/ufw.conf
  sed -i 's/^IPV6=.*/IPV6=no/' /etc/default/ufw
  # ufw allow 22/tcp
  ufw allow 22/tcp >/dev/null 2>&1 || sed -i 's|^### RULES ###$|&\n\n### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in\n-A ufw-user-input -p tcp --dport 22 -j ACCEPT|' /etc/ufw/user.rules
  systemctl -q enable ufw
  ;;
firewalld)
  systemctl -q enable firewalld # its default zone, public, lets ssh in and forwards nothing
  ;;
esac
