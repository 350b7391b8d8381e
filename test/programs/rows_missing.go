package programs

// missing are programs that people ask for, and that nobody could try here.
func missing() []Row {
	var rows []Row
	for _, m := range []struct{ id, title, why string }{
		{"redis", "Redis, Valkey", "neither has a Windows version: they need fork"},
		{"vector", "Vector", "no package that npm or Go has holds its Windows program"},
		{"traefik", "Traefik", "its module does not build: a module that it requires cannot be fetched"},
		{"grafana", "Grafana", "its module cannot be fetched"},
		{"python", "Python", "no package of npm holds its Windows program, only programs that fetch it"},
		{"java", "Java", "no package of npm holds its Windows program, only programs that fetch it"},
		{"ruby_php", "Ruby, PHP", "npm has them as WebAssembly alone, which is Node.js' work"},
		{"nginx", "nginx", "the source that Debian has is without the files for Windows (src/os/win32), and no package of npm holds its program"},
		{"gitea", "Gitea", "its module calls itself by another name than the one it is fetched by, and is without its web pages"},
		{"pwsh", "PowerShell 7", "no package of npm holds its Windows program; powershell.exe and pwsh.exe are Mullion's own, and pwsh.exe runs the one that an image brings"},
	} {
		rows = append(rows, Row{
			ID:      m.id,
			Title:   m.title,
			Family:  NotToBeHad,
			Missing: m.why,
		})
	}

	return rows
}
