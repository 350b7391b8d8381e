// Package winapi owns the support rows of the Windows API: which of Wine's gaps the libraries and programs of guest/
// close, and what Wine cannot run at all. It also lists what these libraries export, for who judges a program by its
// imports. guest/c/hooks/README.md says where each part is.
package winapi

import (
	"slices"

	"mullion.dev/mullion/internal/base/support"
)

// References for the expected behaviour.
const (
	win32    = "https://learn.microsoft.com/windows/win32/"
	drivers  = "https://learn.microsoft.com/windows-hardware/drivers/"
	commands = "https://learn.microsoft.com/windows-server/administration/windows-commands/"
	packages = "https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images"
)

// SupportRows lists how much of the Windows API is available to the programs of a host and of its containers.
func SupportRows() []support.Row {
	var rows []support.Row
	add := func(area string, list []support.Row) {
		for _, r := range list {
			r.Area = area
			rows = append(rows, r)
		}
	}

	add("Windows API: files", fileRows())
	add("Windows API: network and pipes", networkRows())
	add("Windows API: network and pipes", routeRows())
	add("Windows API: network and pipes", httpRows())
	add("Windows API: processes and counters", processRows())
	add("Windows API: processes and counters", jobRows())
	add("Windows API: cryptography", cryptoRows())
	add("Programs that need more of Windows than Wine has", programRows())

	return rows
}

func networkRows() []support.Row {
	return []support.Row{
		{
			Name:  "AF_UNIX",
			Level: support.Partly,
			Ref:   "https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/",
			Note:  "streams, also to Linux programs; a child does not inherit a socket, and the process at the other end is not told",
		},
		{
			Name:  "GetAddrInfoW, getaddrinfo, gethostbyname",
			Level: support.Partly,
			Ref:   "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows",
			Note:  "as on Windows a name with a dot is taken as it is and one without gets the one DNS suffix, with the profile modern as in Linux pods; a pod's hosts file goes first, and a drivers\\etc\\hosts that something else has written, as in a container of `mullion run`, is not read; nothing is cached",
		},
		{
			Name:  "DnsQuery_A, DnsQuery_W, DnsQuery_UTF8",
			Level: support.Partly,
			Ref:   win32 + "api/windns/nf-windns-dnsquery_w",
			Note:  "a name without a dot gets the DNS suffix, as on Windows; the hosts file is not read; a name that has no records of the type asked for gives DNS_ERROR_BAD_PACKET",
		},
		{
			Name:  "GetAdaptersAddresses, GetNetworkParams: DNS servers and suffix",
			Level: support.Supported,
			Ref:   win32 + "api/iphlpapi/nf-iphlpapi-getadaptersaddresses",
		},
		{
			Name:  "GetAdaptersAddresses: prefixes",
			Level: support.Partly,
			Ref:   win32 + "api/iphlpapi/nf-iphlpapi-getadaptersaddresses",
			Note:  "with Wine 10.0 FirstPrefix is empty on a machine with IPv6, whose Wine fails where it is asked for; addresses have their prefix lengths",
		},
		{Name: "SIO_UDP_NETRESET", Level: support.Supported, Ref: win32 + "winsock/winsock-ioctls"},
		{
			Name:  "Icmp6CreateFile, Icmp6SendEcho2",
			API:   []string{"iphlpapi.dll Icmp6ParseReplies"},
			Level: support.Partly,
			Ref:   win32 + "api/icmpapi/nf-icmpapi-icmp6sendecho2",
			Note:  "Icmp6ParseReplies is not exported; the buffer of the reply tells how it went",
		},
		{
			Name:  "TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT",
			Level: support.Supported,
			Ref:   win32 + "winsock/ipproto-tcp-socket-options",
		},
		{
			Name:  "standard handles that are pipes: SetNamedPipeHandleState, GetNamedPipeInfo, PeekNamedPipe, CancelSynchronousIo",
			Level: support.Partly,
			Ref:   win32 + "ipc/named-pipe-operations",
			Note: "answered as for the pipes of CreatePipe, without a name; PIPE_NOWAIT is refused, the processes at the ends are not told, and of reads only one of no bytes can be " +
				"cancelled",
		},
		{Name: "named pipe listeners (go-winio)", Level: support.Supported, Ref: win32 + "ipc/named-pipes"},
		{
			Name:  "access lists of named pipes",
			Level: support.Partly,
			Ref:   win32 + "ipc/named-pipe-security-and-access-rights",
			Note:  "kept and told, but not compared with who opens the pipe; for containers in which a pipe of the host is mounted they are",
		},
		{
			Name:  "Host Compute Service (computecore.dll, vmcompute.dll)",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/virtualization/api/hcs/overview",
			Note: "on a host, function by function in `mullion support hcs`: both versions make containers of layers from documents of schema version 2, run programs in them and end them; version 1 " +
				"also opens the containers of pods, and gives statistics but for the peak of memory",
		},
		{
			Name:  "virtual disks (virtdisk.dll)",
			API:   []string{"virtdisk.dll OpenVirtualDisk", "virtdisk.dll AttachVirtualDisk", "virtdisk.dll DetachVirtualDisk"},
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows/win32/api/virtdisk/",
			Note: "on a host, the scratches of containers alone (sandbox.vhdx), function by function in `mullion support hcs`; such a volume can be opened as a device " +
				"(`\\\\?\\Volume{GUID}` without a backslash at its end), and answers IOCTL_DISK_GET_LENGTH_INFO alone",
		},
		{
			Name:  "bind filter (bindfltapi.dll)",
			API:   []string{"bindfltapi.dll BfSetupFilter", "bindfltapi.dll BfGetMappings"},
			Level: support.Partly,
			Ref:   "https://github.com/microsoft/go-winio/blob/v0.6.2/pkg/bindfilter/bind_filter.go",
			Note:  "on a host, function by function in `mullion support hcs`: files and layers of containers are shown at folders of C: to all programs",
		},
		{
			Name:  "offline registry (offreg.dll)",
			API:   []string{"offreg.dll ORCreateHive", "offreg.dll ORSaveHive", "offreg.dll ORCloseHive"},
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows/win32/devnotes/offline-registry-library-portal",
			Note:  "an empty hive is made and saved, as hcsshim does for a base layer that has none; all other functions are ERROR_CALL_NOT_IMPLEMENTED",
		},
	}
}

func processRows() []support.Row {
	return []support.Row{
		{Name: "ProcessPrng (bcryptprimitives.dll)", Level: support.Supported, Ref: win32 + "seccng/processprng"},
		{
			Name:  "FlushProcessWriteBuffers",
			Level: support.Supported,
			Ref:   win32 + "api/processthreadsapi/nf-processthreadsapi-flushprocesswritebuffers",
		},
		{
			Name:  "GetNumaAvailableMemoryNodeEx, GetNumaNodeProcessorMask2",
			API:   []string{"kernel32.dll GetNumaNodeProcessorMask2"},
			Level: support.Supported,
			Ref:   win32 + "api/systemtopologyapi/nf-systemtopologyapi-getnumanodeprocessormask2",
		},
		{
			Name:  "SetCurrentThreadCompartmentId, GetCurrentThreadCompartmentId",
			Level: support.Partly,
			Ref:   win32 + "api/netioapi/nf-netioapi-setcurrentthreadcompartmentid",
			Note:  "found by GetProcAddress; compartment 1, which is the process' own, and 0; else ERROR_NOT_SUPPORTED",
		},
		{
			Name:  "NtFlushBuffersFileEx",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntflushbuffersfileex",
			Note:  "found by GetProcAddress; whatever its flags ask for, all is flushed; programs that import it do not start with a Wine that lacks it",
		},
		{
			Name:  "VirtualAlloc2, MapViewOfFile3: placeholders",
			API:   []string{"kernelbase.dll MapViewOfFile3"},
			Level: support.Not,
			Ref:   win32 + "api/memoryapi/nf-memoryapi-mapviewoffile3",
			Note: "where Wine refuses them, as Wine 8 does, GetProcAddress does not find MapViewOfFile3: V8 and .NET then do without, as on a Windows before 1803; " +
				"VirtualAlloc2 is there for all else",
		},
		{
			Name:  "performance counters (pdh.dll)",
			Level: support.Partly,
			Ref:   win32 + "perfctrs/using-the-pdh-functions-to-consume-counter-data",
			Note: "Processor, Processor Information, Memory, Network Interface and Adapter, System, Process, Process V2, LogicalDisk and PhysicalDisk, English " +
				"names, with wild cards and raw values, in a host and in its containers: processors, memory (but on a node with memory in cluster.yaml) and disks are the machine's, adapters those of the " +
				"network namespace, processes those of this Windows. Any other object answers PDH_CSTATUS_NO_OBJECT; there are no log files, no help texts and no " +
				"HKEY_PERFORMANCE_DATA",
		},
		{
			Name:  "performance counters that Linux does not have",
			Level: support.Not,
			Ref:   win32 + "perfctrs/pdh-error-codes",
			Note: "can be added to a query and answer PDH_CSTATUS_INVALID_DATA: of processors C1 to C3, Idle Break Events, Performance, Performance Limit; of memory peaks, " +
				"demand zero, transition and cache faults, write copies, page writes, allocations, system code and drivers, the standby lists of other priorities; of the system " +
				"exceptions and system calls; of a process page faults, pools, input and output; of disks split input and output; packets of unknown protocols; in a container " +
				"interrupts, which it must not see, and the input and output of C:, whose file system is on no disk of its own. % Processor Utility is the time that a " +
				"processor works; a virtual adapter's bandwidth is 10 Gbit/s. Which disk a volume is on no IOCTL says, so windows_exporter " +
				"shows a volume without its disk, type and file system",
		},
		{
			Name:  "Management Infrastructure (mi.dll)",
			Level: support.Partly,
			Ref:   win32 + "api/mi/",
			Note: "queries in WQL and enumerations of instances on this machine, by callbacks or one after the other, of the classes that Wine's WMI has; all else, such as methods, " +
				"subscriptions, classes, other machines and serializers, answers MI_RESULT_NOT_SUPPORTED. Elements that are references or instances are null",
		},
		{
			Name:  "priority classes: SetPriorityClass, the flags of CreateProcess",
			Level: support.Partly,
			Ref:   win32 + "procthread/scheduling-priorities",
			Note: "a class is the nice value of the program's threads among the programs of its container or host; in containers the classes above NORMAL change nothing, and one that was lowered stays low, because " +
				"Linux lets nobody there raise it; one that another program sets while it runs and priorities of single threads change nothing anywhere",
		},
		{
			Name:  "programs that a program starts",
			Level: support.Partly,
			Ref:   win32 + "api/processthreadsapi/nf-processthreadsapi-createprocessw",
			Note:  "have all of this too, if they are 64-bit programs",
		},
	}
}

func programRows() []support.Row {
	return slices.Concat([]support.Row{cmdRow()}, powershellRows(), promptRows(), []support.Row{
		{
			Name:  "nslookup",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/nslookup",
			Note:  "Mullion's: names, addresses, a server, types A, AAAA, ANY, CNAME, MX, NS, PTR, SOA, SRV and TXT, [no]search, and a prompt; other options are refused",
		},
		{
			Name:  "ipconfig",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/ipconfig",
			Note:  "Mullion's: with /all, or nothing, and /flushdns; there are no leases and no classes",
		},
		{
			Name:  "ping",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows-server/administration/windows-commands/ping",
			Note:  "Mullion's: with -t, -n, -l, -f, -i, -w, -4 and -6; a name of both families is pinged over IPv4, where Windows prefers IPv6; other options are refused",
		},
		{
			Name:  "find, findstr, where, choice, timeout",
			Level: support.Supported,
			Ref:   commands + "windows-commands",
			Note: "Mullion's: their options of Windows; timeout wants a console, as Windows' does; findstr's /a and /off, and find's /offline, have no effect; find takes a string without quotes too. " +
				"choice reads letters from what is no console, and waits for its time then as well",
		},
		{
			Name:  "fc, setx, systeminfo, tasklist, wmic",
			Level: support.Partly,
			Ref:   commands + "windows-commands",
			Note: "Mullion's: fc without /u; setx without /s and /f; systeminfo without BIOS, disks, hotfixes, time zone; tasklist with /svc, /fi (imagename, pid, session, " +
				"sessionname, memusage), /fo and /nh; other options are refused. A newer Wine's real ones are kept. wmic: get, list full and list brief of an alias or of path CLASS, with where, /value and /format (table, list, csv), /namespace; " +
				"other verbs (call, delete) are Wine's. What both and PowerShell's cmdlets say of the edition, the user, the processors and the adapters is what the registry and the calls say; " +
				"programs that ask WMI by COM or mi.dll are told by Wine's that the edition is Windows 10 Pro",
		},
		{
			Name:  "tar",
			Level: support.Partly,
			Ref:   "https://techcommunity.microsoft.com/blog/containers/tar-and-curl-come-to-windows/382409",
			Note: "Mullion's, with bsdtar's options, on every build: makes tar (plain, gzip, zstd) and zip archives; lists and unpacks these and bzip2; kubectl cp works by it. " +
				"Not xz, nor -r, -u, -T, -P, -s; nothing is unpacked through links that lead out of the folder. Other options are refused",
		},
		{
			Name:  "curl",
			Level: support.Partly,
			Ref:   "https://curl.se/docs/manpage.html",
			Note: "Mullion's, with curl's options, messages and exit codes for http and https, on every build: other protocols, HTTP/2, cookie files, URL patterns and configuration files are " +
				"refused or not there, and there is no progress meter. curl --help has its options; others are refused",
		},
		{
			Name:  "LogMonitor (logmonitor.exe)",
			Level: support.Partly,
			Ref:   "https://github.com/microsoft/windows-container-tools/blob/main/LogMonitor/docs/README.md",
			Note: "Mullion's, in the search path: it runs a program and prints its output, the event log, files and ETW as Microsoft's does, by the same configuration, as JSON, XML or Custom. " +
				"Events of ETW that do not describe themselves (manifests) have their identifier and their data as hexadecimal digits; a provider needs its providerGuid. One that an image brings is left alone",
		},
		{
			Name:  "certutil, getmac, sort",
			Level: support.Partly,
			Ref:   commands + "windows-commands",
			Note: "Mullion's: certutil with -hashfile, -encode, -decode and -addstore (also -user); getmac of this computer; sort without " +
				"regard to /l, /m, /rec and /t. Other options are refused",
		},
		domainRow(),
		{
			Name:  "icacls, takeown",
			Level: support.Partly,
			Ref:   commands + "icacls",
			Note: "Mullion's: icacls shows lists; /grant, /deny, /remove (:g, :d), /inheritance, /reset, /setowner, /T, /C, /Q; what lies below inherits at once. " +
				"/save, /restore, /findsid, /verify, /substitute, /setintegritylevel and /L are refused. takeown with /F, /A, /R, /D. What a list means here is in the row of security descriptors",
		},
		{
			Name:  "shutdown",
			Level: support.Partly,
			Ref:   commands + "shutdown",
			Note: "Mullion's: in a container /s, /r and /p end it, with exit code 0x40010004; the command itself waits the seconds of /t, where Windows' returns at once; the kubelet decides whether it starts again. " +
				"On a host it returns at once, and after /t seconds its services are told (PRESHUTDOWN, SHUTDOWN) and have their time; 10 s later the host ends; with /r it starts again, else `mullion node start` starts it. /a takes that back. " +
				"Programs that call ExitWindowsEx or InitiateSystemShutdownEx themselves end nothing",
		},
		{
			Name:  "netsh",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/windows-server/networking/technologies/netsh/netsh-contexts",
			Note: "Mullion's: interface ipv4 show config, addresses, dnsservers and interfaces; interface ipv4 set interface with forwarding and weak hosts enabled, as they always are (a container may not forward); http show, add and delete urlacl, which are kept, though anybody may listen. The rest is refused with the reason: " +
				"HNS makes networks",
		},
		{
			Name:  "forfiles",
			Level: support.Supported,
			Ref:   commands + "forfiles",
			Note:  "Mullion's: /P, /M, /S, /C and /D with all variables and 0xHH; a command is the program of its first word with the whole line, and links to folders are not followed",
		},
		{
			Name:  "robocopy",
			Level: support.Partly,
			Ref:   commands + "robocopy",
			Note: "Mullion's: /S, /E, /MIR, /PURGE, /LEV, /XF, /XD, /XO, /XN, /XC, /XX, /XL, /IS, /MOV, /MOVE, /L, /FFT, /R, /W, /LOG, /TEE and what the report leaves out; its report and exit codes are Windows'. " +
				"Data, times and attributes are copied, not owners and lists (/SEC, /COPYALL); links are left out; /MT is taken and copies one by one. Other options are refused",
		},
		{
			Name:  "xcopy",
			Level: support.Partly,
			Ref:   commands + "xcopy",
			Note: "Mullion's: /S, /E, /T, /I, /Y, /-Y, /D, /U, /H, /K, /R, /C, /L, /Q, /F, /P, /W, /EXCLUDE; a source that is not there is exit code 4. A question that has no answer, as in a container without standard input, " +
				"ends it with exit code 2. Owners and lists are not copied, which /O and /X say; /A, /B, /M and /N are refused",
		},
		{
			Name:  "tzutil, w32tm, more, chcp",
			Level: support.Partly,
			Ref:   commands + "tzutil",
			Note:  "Mullion's: tzutil /g, /l and, for ContainerAdministrator, /s: a container has a zone of its own, UTC at first, and a host too. Set-TimeZone does the same. TZ has no effect. SetTimeZoneInformation and SetDynamicTimeZoneInformation are not there. w32tm /tz; everything else says that the time service is not started. more.com prints without waiting after a page. chcp shows the console's code page, and 437 where there is none; there a code page that is set has no effect",
		},
		{
			Name:  "whoami, hostname",
			Level: support.Supported,
			Ref:   commands + "whoami",
			Note:  "Mullion's: hostname prints the pod's or node's name as it is; whoami, in Windows' layouts: /user, /groups, /priv, /all, /claims, /logonid, /fo, /nh; nobody is a domain's user. The domain of ContainerAdministrator and ContainerUser is User Manager, as in USERDOMAIN; SIDs, groups and privileges are those of Wine's access token",
		},
		{
			Name:  "netstat, route",
			Level: support.Partly,
			Ref:   commands + "netstat",
			Note: "Mullion's: netstat with -a, -b, -e, -n, -o, -p, -r, -s (IP, TCP and UDP) and an interval; a process that another user has is not named. route print " +
				"with -4, -6 and a destination; routes are HNS', so add, change and delete are refused",
		},
		{
			Name:  "net",
			Level: support.Partly,
			Ref:   commands + "net-localgroup",
			Note: "Mullion's: localgroup, with groups that HostProcess containers can run as; user, with accounts that are listed and can be members: nobody can log on with one that was made, its password is not kept, and /passwordreq, /passwordchg and /expires change nothing. " +
				"start and stop, with dependents, display names and /y; share and view say that there is no service of that kind; use is Wine's; the rest is refused. netapi32 shows neither the groups nor the accounts",
		},
		{
			Name:  "sc",
			Level: support.Partly,
			Ref:   commands + "sc-query",
			Note: "Mullion's: query, queryex, qc, qdescription, qfailure, qfailureflag, enumdepend, create, config, description, failure, failureflag, start, stop, pause, continue, " +
				"interrogate, control and delete, with Windows' layout, texts and exit codes. create with tag= yes, sdshow and the other commands fail with 50, other computers with 1722",
		},
		{
			Name:  "cacls, dism, arp, subst and others",
			Level: support.Not,
			Ref:   "https://gitlab.winehq.org/wine/wine/-/tree/wine-8.0/programs",
			Note:  "Wine 8 has empty programs of these names that end with 0; here they say that they are not there and end with 1; a newer Wine's real ones are kept",
		},
		{
			Name:  "Node.js, Deno, Bun",
			Level: support.Supported,
			Ref:   "https://nodejs.org/api/",
			Note:  "Node.js 18 to 26, Deno 2 and Bun 1, as npm has them: servers, fetch, child processes, workers, cluster, fs.watch, named pipes, an app of Express by HTTP and HTTPS, and some modules of npm with code for Windows in them are tested (docs/compat/programs.md)",
		},
		{
			Name:  ".NET",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/dotnet/core/",
			Note: ".NET 10 in one file with its runtime, and .NET Core 2.2 with its compiler, run and serve by ASP.NET Core (docs/compat/programs.md). With Wine 8 nothing serves TLS of Windows: " +
				"its schannel.dll has only the side of a client",
		},
		{
			Name:  ".NET Framework",
			Level: support.Not,
			Ref:   "https://learn.microsoft.com/dotnet/framework/",
			Note:  "not there, and Microsoft's does not install; programs that need it do not start",
		},
		{
			Name:  "iSCSI Initiator Service (hostservice.exe)",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/module/iscsi",
			Note: "MSiSCSI can be started, stopped and set to start automatically, on hosts and in containers, and does " +
				"nothing: a host's initiator is there without it, and a container has none",
		},
		{
			Name:  "Task Scheduler (schtasks.exe, taskeng.exe)",
			Level: support.Partly,
			Ref:   commands + "schtasks",
			Note: "on hosts and in containers: tasks are kept as XML in C:\\Windows\\System32\\Tasks, by schtasks.exe, the cmdlets of ScheduledTasks or by hand, and run by the service " +
				"Schedule (taskeng.exe), which the first task starts and which starts with Windows from then on: once, daily, weekly and at the start of Windows, each with repetitions, what was missed too " +
				"(StartWhenAvailable), with a time limit, tries after a failed start, or when they are asked for. They run as SYSTEM alone. Refused by name: other accounts, triggers at logon, of months, of events " +
				"and of idleness, random delays, MultipleInstances Queue, actions other than programs. Batteries, idleness and the network change nothing. An ended task's own children go on. The tasks that Windows itself has " +
				"are not there, and nothing calls Wine's taskschd.dll",
		},
		{
			Name:  "IIS (w3svc.exe)",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/iis/",
			Note: "IIS itself is not there. In an image that has C:\\Windows\\System32\\inetsrv the service W3SVC is a server of static files: " +
				"C:\\inetpub\\wwwroot on port 80, with IIS' default documents, types, refusals and log. No web.config (a folder that has one is " +
				"answered with 500.19), modules, application pools, ASP.NET, appcmd, HTTPS, and no start before ServiceMonitor.exe or net start asks for it. Tried with the image that stands in for IIS', not with Microsoft's",
		},
		{
			Name:  "ServiceMonitor (servicemonitor.exe)",
			Level: support.Supported,
			Ref:   "https://github.com/microsoft/IIS.ServiceMonitor",
			Note: "Mullion's, in C:\\ and in the search path, where an image brings none: starts a service, ends with it, and stops it when the container is to end. Unlike Microsoft's it ends with the service's exit code, " +
				"and gives the container's variables, if the service is w3svc, to that service itself instead of an application pool",
		},
		{
			Name:  "Windows services in a container",
			Level: support.Partly,
			Ref:   win32 + "services/services",
			Note: "Wine's service control manager, started when a program first asks for it, or with a container whose image has services that start automatically (in no order). Added: dependencies when a " +
				"service is started or stopped (those on Windows' own services count as there, groups are not followed), failure actions (restart, run; a reboot is none), STOPPED with " +
				"1067 when a process has died, events 7023, 7024, 7031 and 7034, the service's Environment, delayed start, failure flag, SID type and privileges as settings without effect. At the " +
				"container's end services get PRESHUTDOWN or SHUTDOWN, within PreshutdownTimeout, WaitToKillServiceTimeout (5 s) and the pod's grace period. Accounts are all the " +
				"container's user, there are no triggers, no security descriptors of a service's own (ContainerUser may list and read services, and no " +
				"more, as by Windows' default descriptors), and no services of Windows itself. Services are not in session 0, as in Windows' own containers: " +
				"Go's svc.IsWindowsService answers false there and here, .NET's true; on a host they are in it. A service that ends before it has answered a stop counts as stopped. nssm works (docs/compat/programs.md)",
		},
		{
			Name:  "event log (advapi32.dll, wevtapi.dll)",
			Level: support.Partly,
			Ref:   win32 + "eventlog/event-logging",
			Note: "each host and each container has its own, in files of our own form: what programs write by ReportEvent is kept, within the log's MaxSize, and read by ReadEventLog, EvtQuery, " +
				"EvtSubscribe and EvtRender; messages come from the source's EventMessageFile, those of the service control manager are known. Queries have *, System, EventData, comparisons, and, or, not, timediff and band, and are of one log. " +
				"Saved logs (.evtx), other computers, manifests, ETW and changes of settings by EvtSetChannelConfigProperty are refused; Windows writes no events of its own, and the rights of a log's " +
				"files are all that keeps a user from reading, clearing or, in a log that another user has begun, writing it",
		},
		{
			Name:  "ETW, Event Tracing for Windows (advapi32.dll, tdh.dll)",
			Level: support.Partly,
			Ref:   win32 + "etw/event-tracing-portal",
			Note: "sessions in real time: EventRegister, EventSetInformation, EventWrite, EventWriteTransfer, EventWriteString, EventEnabled, StartTrace, ControlTrace, EnableTraceEx2 with levels " +
				"and keywords, OpenTrace, ProcessTrace and their like, within a host or a container. A session has one consumer and room for 2 MB; what comes on top is lost and counted. " +
				"Log files (.etl), private and buffering sessions, filters and raw time stamps are refused with ERROR_NOT_SUPPORTED, the kernel's logger with ERROR_ACCESS_DENIED; whether the user may start a session is not asked. " +
				"Classic providers (RegisterTraceGuids), TraceMessage, stack traces and EventWriteEx are not there; the Tdh functions, which describe events, are refused with ERROR_NOT_SUPPORTED, and TdhEnumerateProviders lists none. Windows' own providers write nothing, and a session ends with the last process that has it open",
		},
		{
			Name:  "wevtutil, eventcreate",
			Level: support.Partly,
			Ref:   commands + "wevtutil",
			Note:  "Mullion's: wevtutil with el, gl, gli, cl and qe (/q, /c, /rd, /f:text or xml, /e); eventcreate with /t, /id, /d, /l and /so. Other commands and options are refused",
		},
		{
			Name:  "WMI",
			Level: support.Partly,
			Ref:   win32 + "wmisdk/wmi-start-page",
			Note:  "Wine's: a few classes, read only",
		},
		{
			Name:  "32-bit programs",
			Level: support.Not,
			Ref:   win32 + "winprog64/running-32-bit-applications",
			Note:  "do not start: only the 64-bit half of Wine is installed",
		},
		{
			Name:  "drivers, Windows' own kernel interfaces",
			Level: support.Not,
			Ref:   drivers,
			Note:  "there is no Windows kernel",
		},
		{
			Name:  "Windows features (dism, Add-WindowsFeature)",
			Level: support.Not,
			Ref:   packages,
			Note: "there are none to add: Get-WindowsFeature shows which are here (Containers on a host, Web-Server in an image of IIS), " +
				"and to add another one fails as on a Windows without its source files, 0x800f081f",
		},
	})
}
