package c

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The parts that read what others have made are fuzzed: each target is a program of testdata/fuzzers and the part,
// compiled for Linux with the sanitizers, that tries one input after the other. It answers which places of its code an
// input came by; marking the same places here lets go test keep the inputs that lead to something new.

// fuzzTarget is a program of testdata/fuzzers.
type fuzzTarget struct {
	name  string
	parts []string // the other files and flags it is compiled with
}

const (
	answerTime = 10 * time.Second // that an input may take; most take microseconds
	mostInput  = 1 << 16
)

// fuzzProgram is a target that runs, and ends with the process.
type fuzzProgram struct {
	path   string
	mu     sync.Mutex
	cmd    *exec.Cmd // nil: it does not run
	in     io.WriteCloser
	out    *os.File
	stderr *bytes.Buffer
}

// start compiles a target and fuzzes it, beginning with the seeds.
func (target fuzzTarget) start(f *testing.F, seeds ...[]byte) {
	f.Helper()
	gcc := sanitizingCompiler(f)
	program := &fuzzProgram{path: filepath.Join(f.TempDir(), target.name)}

	args := append(compilerFlags(), "-fsanitize-coverage=trace-pc", "-no-pie", "-Itestdata/fuzzers",
		"-o", program.path, "testdata/fuzzers/fuzz.c", "testdata/fuzzers/"+target.name+".c",
		"testdata/unit/convert.c", "testdata/unit/windows.c")
	args = append(args, target.parts...)
	if out, err := exec.CommandContext(f.Context(), gcc, args...).CombinedOutput(); err != nil {
		f.Fatalf("compile: %v\n%s", err, out)
	}
	f.Cleanup(program.stop)

	for _, seed := range seeds {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) <= mostInput {
			mark(program.try(t, input))
		}
	})
}

// try gives the program an input and returns its answer; without one, t has failed and the program has ended.
func (p *fuzzProgram) try(t *testing.T, input []byte) []byte {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.cmd == nil {
		if err := p.run(); err != nil {
			t.Fatal(err)
		}
	}
	message := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(input)), uint32(len(input))) //nolint:gosec // see mostInput
	_, written := p.in.Write(append(message, input...))

	answer := make([]byte, len(places)/8)
	deadline := p.out.SetReadDeadline(time.Now().Add(answerTime))
	_, read := io.ReadFull(p.out, answer)
	err := errors.Join(written, deadline, read)
	if err == nil {
		return answer
	}

	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.cmd.Process.Kill()
	}
	_ = p.in.Close()
	ended := p.cmd.Wait()
	p.cmd = nil
	t.Fatalf("%v, %v\n%s", err, ended, p.stderr)
	return nil
}

// run starts the program.
func (p *fuzzProgram) run() error {
	//nolint:noctx // it runs as long as this process, over the tests of many inputs
	cmd := exec.Command(p.path)
	cmd.Env = append(os.Environ(), sanitizerOptions+":hard_rss_limit_mb=512:allocator_may_return_null=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	file, ok := out.(*os.File)
	if !ok {
		return errors.New("standard output is no pipe of the system")
	}

	p.stderr = &bytes.Buffer{}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	p.in, p.out = in, file
	return nil
}

// stop ends the program, if it runs.
func (p *fuzzProgram) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// mark comes by the places that the answer names.
func mark(answer []byte) {
	for i, bits := range answer {
		for bit := range 8 {
			if bits>>bit&1 != 0 {
				places[8*i+bit]()
			}
		}
	}
}

// TestPlacesAreCounted: an answer is counted place by place, so that none hides another.
func TestPlacesAreCounted(t *testing.T) {
	answer := make([]byte, len(places)/8)
	answer[0], answer[len(answer)-1] = 1, 0x80
	before := marked
	mark(answer)
	if len(places) != 1024 || marked-before != 2 {
		t.Errorf("%d places, of which %d were counted for 2", len(places), marked-before)
	}
}

// texts are seeds, one a text.
func texts(seeds ...string) [][]byte {
	var made [][]byte
	for _, seed := range seeds {
		made = append(made, []byte(seed))
	}
	return made
}

// behind puts the same bytes before each seed.
func behind(first string, seeds [][]byte) [][]byte {
	var made [][]byte
	for _, seed := range seeds {
		made = append(made, append([]byte(first), seed...))
	}
	return made
}

// httpParts returns what reads HTTP, with its flags.
func httpParts() []string {
	return parts["http"]
}

func FuzzHTTPHead(f *testing.F) {
	fuzzTarget{name: "httphead", parts: httpParts()}.start(f, behind("\x06", texts(
		"GET /a/../b?c HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close, keep-alive\r\nContent-Length: 12\r\nX: y\r\n\r\n",
		"POST http://a:1/%41%c3%a4/.. HTTP/1.0\r\nExpect: 100-continue\r\nCookie: a\r\n\r\n",
		"POST /a?b HTTP/1.1\r\nhost:  x:1 \r\nConnection: Upgrade , keep-alive\r\nExpect: 100-Continue\r\nX-Y:\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x16\x03\x01"))...)
}

func FuzzHTTPBody(f *testing.F) {
	seeds := behind("\x01\x02\x03", texts(
		"5\r\nhello\r\n0\r\n\r\n",
		"005;a=\"b\"\r\nhello\r\n1 \r\n,\r\n00\r\nA: b\r\nC: d\r\n\r\nGET",
		"A\r\n0123456789\r\n0\r\n\r\n",
		"10000000000000000\r\nhello",
		"fffffffffffffff\r\nhello",
		"0\r\nA\n\r\n"))
	seeds = append(seeds, behind("\x02\x02\x03", texts("\x05hello, world", "\x00", "\xffhello"))...)
	fuzzTarget{name: "httpbody", parts: httpParts()}.start(f, seeds...)
}

func FuzzHTTPURL(f *testing.F) {
	fuzzTarget{name: "httpurl", parts: httpParts()}.start(f, texts(
		"http://+:80/\n/\na",
		"http://*:8080/a/\n/a%20b/c?d%20e\na:8080",
		"HTTP://Example.org:80/\n/%c3%A4/%e4/%f0%9f%98%80\nexample.org",
		"http://127.0.0.1:8080/\nhttp://B:9/x?y\n127.0.0.1",
		"http://[2001:db8::1]:8080/a/b/\n/a/%2e%2e/b/./../c\n[2001:db8::1]:8080",
		"http://\xff\x00\xe4:80/\n/a%5c..%5cb\n",
		"https://+:443/\n*\n[::1%2]",
		"http://[fe80::1%2]:80/\n//a/...\na:b:c")...)
}

func FuzzEventQuery(f *testing.F) {
	fuzzTarget{name: "query", parts: parts["events"]}.start(f, texts(
		"*", "", "Event",
		"*[System[Level=2 or (Task=3 and not(EventID=8))]]",
		"*[System[EventID='7' and EventID/@Qualifiers=0xc000]]",
		"*[System[Security[@UserID='S-1-5-18']]]",
		"*[EventData[Data>41]]", "*[EventData/Binary]", "*[UserData]",
		"*[System[band(Keywords, 0x80000000000000)]]",
		"*[System[TimeCreated[timediff(@SystemTime) < 1000]]]",
		"*[System[TimeCreated[@SystemTime<'2026-01-01T03:04:05.1234568Z']]]",
		"<QueryList><Query Path='Application'><Select>*[System[Level&gt;3]]</Select><Select Path='application'>"+
			"*[System[Provider[@Name='a &amp;amp; b']]]</Select></Query></QueryList>",
		"<QueryList><Query Path='Application'><Select>*</Select><Suppress>*[EventData[Data='42']]</Suppress></Query>"+
			"</QueryList>",
		"<QueryList><Query Path='A'><Select/></Query></QueryList>",
		"*[System[(((((((((((((((((((((((((((((((((Level=1")...)
}

func FuzzEvent(f *testing.F) {
	fuzzTarget{name: "event", parts: parts["events"]}.start(f, texts(
		"\x02\x02A & B\nwin-1\n<a> & \"b\"\x01\nc'\n\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00",
		"\x00\x00<BookmarkList><Bookmark Channel='Application' RecordId='77' IsCurrent='true'/></BookmarkList>\nb",
		"\x00\x002026-01-01T03:04:05.1234567Z\nb",
		"\x00\x002024-02-29\nb",
		"\xff\x00MGLR")...)
}

func FuzzPKCS12(f *testing.F) {
	fuzzTarget{name: "pkcs12", parts: parts["pkcs12"]}.start(f, pkcs12Seeds()...)
}

func FuzzKeyBlob(f *testing.F) {
	fuzzTarget{name: "keyblob", parts: parts["blob"]}.start(f, keySeeds()...)
}

func FuzzCertificateName(f *testing.F) {
	fuzzTarget{name: "sslname", parts: parts["sslname"]}.start(f, texts(
		"\x0bexample.org\x30\x0d\x82\x0bexample.org",
		"\x0fwww.example.org\x30\x0f\x82\x0d*.example.org",
		"\x09127.0.0.1\x30\x06\x87\x04\x7f\x00\x00\x01",
		"\x03::1\x30\x12\x87\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01")...)
}

func FuzzCounterPath(f *testing.F) {
	//nolint:misspell // a path of a counter
	fuzzTarget{name: "counterpath", parts: parts["pdh"]}.start(f, texts(
		`\Memory\Available Bytes`,
		`\\host\Memory\Available Bytes`,
		`\Processor Information(0,_Total)\% Idle Time`+"\n0,_total",
		`\Process(a(b)\c)\ID Process`+"\na",
		`\Memory(*)\Free & Zero Page List Bytes`+"\nx",
		`\Time\Clock Frequency Adjustment (ppb)`,
		"a*b*c\naXbYbZc", "*:1*\na:12", `\(x)\y`, `\Processor(0\% Idle Time`)...)
}

func FuzzDescriptor(f *testing.F) {
	fuzzTarget{name: "descriptor", parts: parts["acl"]}.start(f, descriptorSeeds()...)
}

func FuzzETWEvent(f *testing.F) {
	fuzzTarget{name: "etwevent", parts: parts["etw"]}.start(f, eventSeeds()...)
}

// TestTargetsAreWhole: each program of testdata/fuzzers is the target of a fuzz function.
func TestTargetsAreWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/fuzzers/*.c")
	if err != nil || len(files) < 12 {
		t.Fatalf("find the programs: %v, %v", files, err)
	}
	source, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".c")
		if name != "fuzz" && !strings.Contains(string(source), `fuzzTarget{name: "`+name+`"`) {
			t.Errorf("no target runs %s", file)
		}
	}
}
