// Package hostservice owns the program of services whose work the host's agent does, whether they run or not: scripts
// start MSiSCSI before they ask for the iSCSI initiator, and dockerd.exe wants hns and vmcompute to be there. So a
// service costs nothing while nobody starts it. The program, which is told the service's name, does nothing but run and
// stop.
package hostservice
