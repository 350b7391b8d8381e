package winapi

import "mullion.dev/mullion/internal/base/support"

// promptRows are those of the small programs that somebody calls at a prompt to look around.
func promptRows() []support.Row {
	return []support.Row{
		{
			Name:  "comp, tree, help",
			Level: support.Supported,
			Ref:   commands + "tree",
			Note: "Mullion's: comp with /d, /a, /l, /n, /c and /m; at the end of its input it asks no more. tree with /f and /a names folders that are links and does not follow them. " +
				"help lists what is here, and has cmd.exe say what one command does",
		},
		{
			Name:  "tracert",
			Level: support.Partly,
			Ref:   commands + "tracert",
			Note: "Mullion's: with -d, -h, -w, -4 and -6, IPv4 first as of ping; -j, -R and -S are refused. Wine's ICMP tells of no router that has not passed a ping on, so that those are timeouts and the last " +
				"line is the host",
		},
		{
			Name:  "label, chkdsk, cipher",
			Level: support.Partly,
			Ref:   commands + "label",
			Note: "Mullion's: label shows a label and sets it, where Wine lets it. A drive is a folder of Linux: chkdsk names the file system and ends with 3, since it cannot open the volume; " +
				"cipher lists files, none of which is encrypted, and refuses to encrypt them",
		},
		{
			Name:  "quser, qwinsta, query, gpresult",
			Level: support.Partly,
			Ref:   commands + "query",
			Note: "Mullion's: nobody logs on, so that quser and query user say that no user exists; query session has the services' session and the console's; query process is refused. " +
				"gpresult says that there are no data of policies, which nothing applies",
		},
	}
}
