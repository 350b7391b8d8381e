// Package winrun checks, in a Wine prefix of its own, what runs inside Windows containers and hosts besides the
// programs themselves: the launcher mullion-run.exe, the first process mullion-init, the performance counters,
// powershell.exe, cmd.exe and the small programs of Windows. The prefix is used as a container's is: without
// wineboot.exe. It needs Wine and built shims (build tag wine).
package winrun
