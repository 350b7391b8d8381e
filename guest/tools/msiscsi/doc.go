// Package msiscsi owns the program of the service MSiSCSI, which scripts start before they ask for the iSCSI initiator.
// The initiator itself is the host's agent's (package initiator), and is there whether the service runs or not: so it
// costs nothing while nobody starts it. The program does nothing but run and stop.
package msiscsi

// Name is the service's name, as Windows has it.
const Name = "MSiSCSI"
