package winapi

import "mullion.dev/mullion/internal/base/support"

func jobRows() []support.Row {
	return []support.Row{
		{
			Name:  "job objects of programs",
			Level: support.Partly,
			Ref:   win32 + "procthread/job-objects",
			Note:  "limits that a program sets on a job of its own are kept and not enforced; CPU rate control is refused",
		},
		{
			Name:  "the job object of a container, from the host",
			Level: support.Partly,
			Ref:   "https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e_node_windows/util_jobobject_windows.go",
			Note: `\Container_<id> opens for queries, by NtOpenJobObject as hcsshim and Kubernetes' node tests do; it answers basic and extended limits, accounting, input and output, groups and ` +
				"group affinities, CPU rate control (also for a count of processors, as on Windows), net rate control (none), memory usage and IO attribution. Setting, assigning and ending are refused " +
				"(ERROR_ACCESS_DENIED), other classes such as the list of processes too (ERROR_INVALID_FUNCTION). Processes count Wine's own; peaks are the figures of now; ended processes are not counted. " +
				"Every program of the host may ask, not SYSTEM alone. A HostProcess container has no JobContainer_<id>",
		},
		{
			Name:  "the job object of a container, from inside",
			Level: support.Partly,
			Ref:   win32 + "api/jobapi2/nf-jobapi2-queryinformationjobobject",
			Note: "QueryInformationJobObject without a job answers the container's limits, which .NET takes for its memory and processors, also after an update; figures of use are not told. " +
				"IsProcessInJob says yes. Not in HostProcess containers and 32-bit programs",
		},
		{
			Name:  "job objects: commit limit of a container",
			Level: support.Partly,
			Ref:   win32 + "procthread/job-objects",
			Note:  "where its programs together use as much, an allocation fails with ERROR_COMMITMENT_LIMIT; Windows counts what is committed and not touched, too. Sections, and what is touched only later, can be more: above the limit and 64 MiB the kernel kills, which Windows never does. 32-bit programs are not asked",
		},
	}
}
