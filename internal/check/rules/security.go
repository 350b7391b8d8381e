package rules

import "mullion.dev/mullion/internal/check"

const (
	podSecurityCategory       = "pod-security"
	containerSecurityCategory = "container-security"
)

func podSecurity() []check.Rule {
	pod := func(id, field string, op check.Op, why string) check.Rule {
		return ignored(id, podSecurityCategory, check.OnPod, check.Match{
			Path: "spec.securityContext." + field,
			Op:   op,
		}, why)
	}

	since := func(minor int, r check.Rule) check.Rule { // a field that is younger than osNameRefused
		r.Since, r.Refused = minor, minor
		return r
	}
	return []check.Rule{
		pod("pod-run-as-user", "runAsUser", check.Present,
			"Windows has no numeric user ids; use windowsOptions.runAsUserName"),
		pod("pod-run-as-group", "runAsGroup", check.Present, "Windows has no numeric group ids"),
		pod("pod-fs-group", "fsGroup", check.Present,
			"on Windows the files of volumes have access lists instead of a group id, so their ownership is not changed"),
		pod("pod-fs-group-change-policy", "fsGroupChangePolicy", check.Present,
			"there is no fsGroup whose change it could govern"),
		pod("pod-selinux", "seLinuxOptions", check.Present, "SELinux is part of Linux"),
		since(32, pod("pod-selinux-change-policy", "seLinuxChangePolicy", check.Present, "SELinux is part of Linux")),
		pod("pod-seccomp", "seccompProfile", check.Present, "seccomp is part of Linux"),
		since(30, pod("pod-apparmor", "appArmorProfile", check.Present, "AppArmor is part of Linux")),
		pod("pod-supplemental-groups", "supplementalGroups", check.NonEmpty, "Windows has no numeric group ids"),
		since(31, pod("pod-supplemental-groups-policy", "supplementalGroupsPolicy", check.Present,
			"Windows has no numeric group ids")),
		pod("pod-sysctls", "sysctls", check.NonEmpty, "sysctls are settings of the Linux kernel"),
	}
}

func containerSecurity() []check.Rule {
	container := func(id, field, why string) check.Rule {
		return ignored(id, containerSecurityCategory, check.OnContainer, present("securityContext."+field), why)
	}
	appArmor := container("container-apparmor", "appArmorProfile", "AppArmor is part of Linux")
	appArmor.Since, appArmor.Refused = 30, 30
	return []check.Rule{
		container("container-run-as-user", "runAsUser",
			"Windows has no numeric user ids; use windowsOptions.runAsUserName"),
		container("container-run-as-group", "runAsGroup", "Windows has no numeric group ids"),
		container("container-capabilities", "capabilities", "capabilities are part of Linux"),
		container("container-privileged", "privileged",
			"Windows has no privileged containers; HostProcess containers come closest (windowsOptions.hostProcess)"),
		container("container-read-only-root", "readOnlyRootFilesystem",
			"the registry and the system processes of Windows in the container need write access"),
		container("container-privilege-escalation", "allowPrivilegeEscalation", "no_new_privs is part of Linux"),
		container("container-proc-mount", "procMount", "Windows has no /proc"),
		container("container-selinux", "seLinuxOptions", "SELinux is part of Linux"),
		container("container-seccomp", "seccompProfile", "seccomp is part of Linux"),
		appArmor,
		nonRoot(),
	}
}

// nonRoot is about runAsNonRoot with a user that the kubelet refuses when it makes the container.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/security_context_windows.go
func nonRoot() check.Rule {
	return check.Rule{
		ID:       "non-root-administrator",
		Severity: check.Error,
		Category: containerSecurityCategory,
		Target:   check.OnContainer,
		Title:    "runAsNonRoot refuses the user ContainerAdministrator",
		Source:   compat("compatibility-v1-pod-spec-containers"),
		Why:      "on Windows ContainerAdministrator counts as root, so the kubelet does not make the container",
		Remedy:   "run as ContainerUser, or leave runAsNonRoot out",
		Fields:   []string{"securityContext.runAsNonRoot", "securityContext.windowsOptions.runAsUserName"},
		Func: each(func(p *check.Pod, c check.Container) []check.Hit {
			if !effective(p, c, "securityContext.runAsNonRoot").Node.True() {
				return nil
			}
			user := effective(p, c, userName)
			return hits([]check.Value{user}, func(name string) string {
				if equalFold(name, "ContainerAdministrator") {
					return "runAsUserName is " + name
				}
				return ""
			})
		}),
	}
}
