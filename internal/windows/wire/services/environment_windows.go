package services

import "golang.org/x/sys/windows/registry"

// SetEnvironment writes the variables, NAME=value, that a service gets beside the machine's when it is started
// (HKLM\SYSTEM\CurrentControlSet\Services\NAME, Environment).
func SetEnvironment(service string, variables []string) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+service, registry.SET_VALUE)
	if err != nil {
		return code(err)
	}
	defer key.Close()
	return code(key.SetStringsValue("Environment", variables))
}

// SetOutput makes a file the standard output and the standard error of a service's process. It is Mullion's own setting
// (guest/c/hooks/scm.c).
func SetOutput(service, file string) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+service, registry.SET_VALUE)
	if err != nil {
		return code(err)
	}
	defer key.Close()
	return code(key.SetStringValue("MullionOutput", file))
}
