package images

// e2eRegistry is upstream's registry of the images
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/utils/image/manifest.go); a test compares the names.
const e2eRegistry = "registry.k8s.io/e2e-test-images/"

// The stand-ins, in words for the label and the page of results.
const (
	toolsStandIn = "busybox, curl, netcat and dig are Mullion's test/images/busybox, PowerShell is the small part of it that Windows nodes have"
	nginxStandIn = "nginx and busybox are Mullion's test/images/busybox: it serves files, and has no configuration"
)

// windowsPath is the search path that upstream's Windows images have
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
const windowsPath = `PATH=C:\dig\;C:\bin;C:\curl;C:\Windows\System32;C:\Windows;C:\Program Files\PowerShell;`

const linuxPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// tools returns the names of the shell and the small programs in images. `busybox --list` prints the programs that
// exist.
func tools() []string {
	return []string{
		"sh", "ash", "bash", "cat", "ls", "cp", "mv", "rm", "mkdir", "rmdir", "touch", "find", "chmod", "ln", "stat",
		"dd", "sync", "mktemp",
		"du", "echo", "head", "tail", "grep", "egrep", "wc", "sort", "uniq", "cut", "tr", "tee", "seq", "base64",
		"md5sum", "sha1sum", "sha256sum",
		"xargs", "printf", "test", "[", "basename", "dirname", "sleep", "date", "env", "printenv", "id", "whoami",
		"hostname", "uname",
		"true", "false", "timeout", "which", "pwd", "nproc", "curl", "wget", "nc", "dig", "nslookup", "getent", "awk",
		"expr", "hexdump",
	}
}

// windows returns the base of upstream's Windows images, a layer with the tools in C:\bin and a folder for temporary
// files, and more layers.
func windows(more ...map[string]File) []map[string]File {
	files := map[string]File{"tmp": {}, "bin/busybox.exe": {Program: "windows/busybox.exe"}}
	for _, t := range tools() {
		files["bin/"+t+".exe"] = File{Link: "busybox.exe"}
	}
	return append([]map[string]File{files}, more...)
}

// linux is the same for Linux.
func linux(more ...map[string]File) []map[string]File {
	files := map[string]File{
		"tmp": {}, "bin/busybox": {Program: "linux/busybox"},
		"etc/passwd": {Text: "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
		"etc/group":  {Text: "root:x:0:\nnobody:x:65534:\n"},
	}
	for _, t := range tools() {
		files["bin/"+t] = File{Link: "busybox"}
	}
	return append([]map[string]File{files}, more...)
}

// agnhost adds upstream's agnhost, under both names that tests use, and the other files of its image. As in upstream's
// image, the files have no ending on Windows either
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/Dockerfile_windows).
func agnhost(system string, more ...map[string]File) []map[string]File {
	files := map[string]File{
		"uploads": {}, "agnhost": {Program: "linux/agnhost"}, "agnhost-2": {Link: "agnhost"},
		"localhost.crt": {Program: "data/localhost.crt"}, "localhost.key": {Program: "data/localhost.key"},
	}
	if system == Windows {
		files["agnhost"] = File{Program: "windows/agnhost.exe"}
		files["filePermissions.ps1"] = File{Program: "data/filePermissions.ps1"}
	}
	more = append([]map[string]File{files, {RegistryDir: {Registry: true}}}, more...)
	if system == Windows {
		return windows(more...)
	}
	return linux(more...)
}

func agnhostContent(system, cmd string, more ...map[string]File) Content {
	c := Content{
		Layers:     agnhost(system, more...),
		Env:        []string{linuxPath},
		Entrypoint: []string{"/agnhost"},
		Cmd:        []string{cmd},
		Ports:      []string{"80", "8080", "8081", "9376"},
	}
	if system == Windows {
		c.Env = []string{windowsPath}
	}
	return c
}

func agnhostImage(ref []string, standIn, cmd string, more ...map[string]File) Image {
	return Image{
		Refs:    ref,
		StandIn: standIn,
		Content: map[string]Content{
			Windows: agnhostContent(Windows, cmd, more...), Linux: agnhostContent(Linux, cmd, more...),
		},
	}
}

// All returns all images, except those that no Windows node is asked for (apparmor-loader, nfs, perl, …) and those that
// need packages of Linux. A test that wants one of these fails with the name of the image that it cannot pull.
func All() []Image {
	index := File{Text: "<!DOCTYPE html>\n<html>\n<head><title>Welcome to nginx!</title></head>\n<body><h1>Welcome to nginx!</h1></body>\n</html>\n"}
	return []Image{
		{
			Refs:    []string{e2eRegistry + "busybox:1.37.0-2"},
			StandIn: toolsStandIn,
			Content: map[string]Content{
				Windows: {
					Layers:     windows(),
					Env:        []string{windowsPath, `ProgramFiles=C:\Program Files`},
					User:       "ContainerAdministrator",
					Entrypoint: []string{"cmd.exe", "/s", "/c"},
				},
				Linux: {Layers: linux(), Env: []string{linuxPath}, Cmd: []string{"sh"}},
			},
		},
		agnhostImage([]string{e2eRegistry + "agnhost:2.66.1", e2eRegistry + "agnhost:2.55"},
			"agnhost is upstream's (2.66.1, also under the name 2.55); "+toolsStandIn+", no coredns, no iperf, and the pause in its registry is Mullion's", "pause"),
		{
			Refs:    []string{e2eRegistry + "nginx:1.28.0-2", e2eRegistry + "nginx:1.27.0-2"},
			StandIn: nginxStandIn,
			Content: map[string]Content{
				Windows: {
					Layers: windows(map[string]File{
						"usr/share/nginx/nginx.exe":       {Program: "windows/busybox.exe"},
						"usr/share/nginx/html/index.html": index,
					}),
					Env:        []string{windowsPath},
					User:       "ContainerAdministrator",
					Ports:      []string{"80"},
					Entrypoint: []string{"/bin/sh", "-c", " cd /usr/share/nginx && ./nginx.exe"},
				},
				Linux: {
					Layers: linux(map[string]File{
						"bin/nginx":                       {Link: "busybox"},
						"usr/share/nginx/html/index.html": index,
					}),
					Env:   []string{linuxPath},
					Ports: []string{"80"},
					Cmd:   []string{"nginx"},
				},
			},
		},
		{
			Refs:    []string{e2eRegistry + "nonroot:1.5"},
			StandIn: toolsStandIn,
			Content: map[string]Content{
				Windows: {
					Layers: windows(),
					Env:    []string{windowsPath},
					User:   "ContainerUser",
					Cmd:    []string{`c:\windows\system32\cmd.exe`},
				},
				Linux: {Layers: linux(), Env: []string{linuxPath}, User: "1234", Cmd: []string{"sh"}},
			},
		},
		pause(),
		{
			Refs:    []string{e2eRegistry + "glibc-dns-testing:2.1.1"},
			StandIn: toolsStandIn,
			Content: map[string]Content{
				Windows: {Layers: windows(), Env: []string{windowsPath}, Entrypoint: []string{"cmd.exe", "/s", "/c"}},
				Linux:   {Layers: linux(), Env: []string{linuxPath}, Cmd: []string{"sh"}},
			},
		},
		{
			Refs:    []string{e2eRegistry + "resource-consumer:1.14"},
			StandIn: "the consumers are upstream's; " + toolsStandIn + "; testlimit is of it too, with the options -d, -e and -c, and there is no stress; both consume memory",
			Content: map[string]Content{
				Windows: {
					Layers: windows(map[string]File{
						"consumer.exe":                {Program: "windows/resource-consumer.exe"},
						"consume-cpu/consume-cpu.exe": {Program: "windows/consume-cpu.exe"},
						"bin/testlimit.exe":           {Link: "busybox.exe"},
					}),
					Env:        []string{windowsPath},
					Ports:      []string{"8080"},
					Entrypoint: []string{"/consumer.exe"},
				},
				Linux: {
					Layers: linux(map[string]File{
						"consumer":                {Program: "linux/resource-consumer"},
						"consume-cpu/consume-cpu": {Program: "linux/consume-cpu"},
					}),
					Env:        []string{linuxPath},
					Ports:      []string{"8080"},
					Entrypoint: []string{"/consumer"},
				},
			},
		},
		pets("kitten"), pets("nautilus"),
	}
}

// pause returns the image of a program that does nothing.
func pause() Image {
	return Image{
		Refs:    []string{"registry.k8s.io/pause:3.10.2"},
		StandIn: "pause is Mullion's test/images/busybox",
		Content: map[string]Content{
			Windows: {
				Layers:     []map[string]File{{"pause.exe": {Program: "windows/busybox.exe"}}},
				Entrypoint: []string{"/pause.exe"},
				User:       "ContainerUser",
			},
			Linux: {
				Layers:     []map[string]File{{"pause": {Program: "linux/busybox"}}},
				Entrypoint: []string{"/pause"},
				User:       "65535:65535",
			},
		},
	}
}

// pets returns the images of the update demonstration: agnhost's web server over a picture.
func pets(name string) Image {
	return agnhostImage([]string{e2eRegistry + name + ":1.8"}, "agnhost is upstream's; "+toolsStandIn, "test-webserver",
		map[string]File{
			name + ".jpg": {Program: "data/" + name + "/" + name + ".jpg"},
			"data.json":   {Program: "data/" + name + "/data.json"},
		})
}
