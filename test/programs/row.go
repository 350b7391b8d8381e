package programs

import "strings"

// Row is a program of the matrix: where it comes from, what is done with it, and what must come out.
type Row struct {
	// ID names the row in tests and results, for example "node_22".
	ID string
	// Title is the program's name for a reader, without its version.
	Title   string
	Version string
	Family  Family
	// Source is where the program comes from. Its zero value says that it cannot be had; then Missing says why.
	Source  Source
	Missing string
	// Quick rows are part of `make test`.
	Quick  bool
	Checks []Check
}

// Family is a part of the page.
type Family string

// The families, in the order of the page.
const (
	JavaScript Family = "JavaScript runtimes"
	DotNet     Family = ".NET"
	Native     Family = "Native programs of npm"
	Go         Family = "Go"
	NotToBeHad Family = "Programs that could not be tried"
)

// Families returns the families in the order of the page.
func Families() []Family { return []Family{JavaScript, DotNet, Native, Go} }

// Source is where a program comes from: a package of npm, or the main package of a Go module.
type Source struct {
	// Pack is a package of npm with the program in it. All its files are laid into the row's folder.
	Pack Pack
	// File is the program's path within the row's folder.
	File string
	// Module is a module of Go, built for Windows without cgo; Package is its main package.
	Module  string
	Package string
	// Pins is a folder of upstream/ whose go.mod pins the module and what it requires, for a module that replaces
	// others; without it, a go.mod that requires the module alone is made.
	Pins string
	// Tree is a folder of testdata with a package.json and its package-lock.json: npm lays these modules beside the
	// program, for Windows.
	Tree string
	// With are other sources whose files are laid into the row's folder too.
	With []Source
}

// Pack is an archive that npm fetches.
type Pack struct {
	Name    string
	Version string
	// Sum is the archive's SHA-512, as npm writes it.
	Sum string
}

func (s Source) none() bool { return s.Pack.Name == "" && s.Module == "" }

// String returns the source as the page names it.
func (s Source) String() string {
	from := "npm: " + s.Pack.Name
	if s.Module != "" {
		from = "Go: " + s.Package
	}
	if s.Tree != "" {
		from += ", and the modules of testdata/" + s.Tree
	}
	for _, other := range s.With {
		from += "; " + other.String()
	}
	return from
}

// Check is one thing that is done with a program. In its texts {dir} is the row's folder as Windows names it, {exe} the
// program, {port} and {port2} are TCP ports that are free, and {file} a file's path with slashes.
type Check struct {
	// Name says what is tried, for the page.
	Name string
	// Run is the command line; the first word is a program in the row's folder, or one of Windows.
	Run []string
	// Env are variables beside the usual ones.
	Env []string
	// Files are laid into the row's folder before; "@name" is a file of testdata, everything else the text itself.
	Files map[string]string
	// Lines are all lines that the program must print to its standard output. When it prints "ready", it gets a line.
	Lines []string
	// Want is a pattern that what it prints, on both outputs, must match. With Serve it is that of the whole log.
	Want string
	// Writes are patterns that files of the row's folder must match afterwards.
	Writes map[string]string
	// Exit is the exit code that a program that ends by itself must have.
	Exit int
	// Asks are put to a server while it runs. A check that has some is one of a server: it is started, asked until it
	// answers, told to end as a container's programs are, and must end.
	Asks []Ask
	// Kill ends the server as a loss of power does, instead of telling it to end.
	Kill bool
	// Gaps say why the check does not pass, by the version of Wine with which it does not ("8", "10"). There a check
	// with
	// a gap must fail.
	Gaps map[string]string
}

// Ask is a question to a server and the answer that it must give.
type Ask struct {
	// URL is asked by HTTP or HTTPS, with a body by POST.
	URL     string
	Method  string
	Body    string
	Headers map[string]string
	// TCP is an address to which Send is sent, and whose answer is read to its end, or until it matches.
	TCP  string
	Send string
	// DNS is a server's address that is asked by UDP for the addresses of Name.
	DNS  string
	Name string
	// Run is a program of Windows that is run while the server runs.
	Run []string
	// Want is a pattern that the answer must match.
	Want string
}

// gap returns the reason why a check does not pass with a version of Wine, "" if it must.
func (c Check) gap(wine string) string {
	major, _, _ := strings.Cut(wine, ".")
	return c.Gaps[major]
}

// Rows returns the matrix.
func Rows() []Row {
	var all []Row
	for _, rows := range [][]Row{javaScript(), dotNet(), native(), goServers(), goTools(), npmPrograms(), missing()} {
		all = append(all, rows...)
	}
	return all
}
