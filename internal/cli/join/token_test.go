package join

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/controlplane/pki"
)

const ownToken = "abcdef.0123456789abcdef"

func TestTokens(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Several)
	kept := m.ServeSecrets()
	m.Run("token", "list").Check(t, exit.OK, "TOKEN  EXPIRES  DESCRIPTION\n", "")
	m.Run("token", "list", "-o", "json").Check(t, exit.OK, "[]\n", "")

	m.Run("token", "create", ownToken, "--ttl", "0", "--description", "for ever").Check(t, exit.OK, ownToken+"\n", "")
	m.Run("token", "create", ownToken).Refused(t, exit.Conflict, `the cluster already has a token with the ID "abcdef"`,
		"delete it first (`mullion token delete abcdef`), or choose another ID (the first six characters)")
	made := m.Run("token", "create", "--ttl", "1h")
	id, _, ok := strings.Cut(strings.TrimSuffix(made.Out, "\n"), ".")
	if !ok || !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}\n$`).MatchString(made.Out) || made.Code != exit.OK {
		t.Errorf("made %q, exit code %d: %s", made.Out, made.Code, made.Err)
	}

	ends := string(kept.Kept["bootstrap-token-"+id].Data["expiration"])
	if at, err := time.Parse(time.RFC3339, ends); err != nil || time.Until(at) > time.Hour ||
		time.Until(at) < 59*time.Minute {
		t.Errorf("ends %s, %v", ends, err)
	}

	list := m.Run("token", "list")
	if !regexp.MustCompile(`(?m)^abcdef +never +for ever$`).MatchString(list.Out) ||
		!regexp.MustCompile(`(?m)^`+id+` +`+ends+` *$`).MatchString(list.Out) {
		t.Errorf("list says:\n%s", list.Out)
	}

	asJSON := m.Run("token", "list", "-o", "json")
	var told []map[string]any
	if err := json.Unmarshal([]byte(asJSON.Out), &told); err != nil || len(told) != 2 {
		t.Errorf("%v: %s", err, asJSON.Out)
	}

	for _, text := range []string{list.Out, asJSON.Out} {
		if strings.Contains(text, "0123456789abcdef") {
			t.Errorf("a list tells a secret:\n%s", text)
		}
	}

	m.Run("token", "delete", ownToken).Check(t, exit.OK, "", "")
	m.Run("token", "delete", id).Check(t, exit.OK, "", "")
	if len(kept.Kept) > 0 {
		t.Errorf("kept %v", kept.Kept)
	}

	m.Run("token", "delete", "abcdef").Refused(t, exit.NotFound, "the cluster has no such token",
		"`mullion token list` lists them")
	m.Run("token", "delete").Refused(t, exit.Usage, "`mullion token delete` takes TOKEN, got 0 argument(s)",
		"see `mullion token delete --help`")
	m.Run("token", "create", "a", "b").Refused(t, exit.Usage, "`mullion token create` takes at most one token, got 2",
		"see `mullion token create --help`")
}

// TestTokensOfAnAPIThatDoesNotAnswer has each command end, whatever it is that gets no answer.
func TestTokensOfAnAPIThatDoesNotAnswer(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Several)
	kept := m.ServeSecrets()
	m.Run("token", "create", ownToken).Check(t, exit.OK, ownToken+"\n", "")
	m.Sources.Patience = 2 * time.Second // enough for what is answered, on a busy machine too
	for method, tt := range map[string]struct{ args, what string }{
		http.MethodGet:    {"token list", "list bootstrap tokens"},
		http.MethodPost:   {"token create", "create bootstrap token"},
		http.MethodDelete: {"token delete abcdef", `remove bootstrap token "abcdef"`},
	} {
		kept.Silent = method
		got := m.Run(strings.Fields(tt.args)...)
		got.Has(t, exit.Internal, "mullion: "+tt.what+": ")
		if got.Out != "" || !strings.Contains(got.Err, "context deadline exceeded") {
			t.Errorf("%s: printed %q, said %s", tt.args, got.Out, got.Err)
		}
	}
}

// TestTokensOfAClusterOfOneMachine are none that another could use.
func TestTokensOfAClusterOfOneMachine(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	kept := m.ServeSecrets()
	m.Run("token", "create").Refused(t, exit.Conflict,
		"other machines cannot join this cluster: it has no advertised address",
		"bring a cluster up with `mullion server --advertise-address ADDRESS`, "+
			"or with networking.advertiseAddress in cluster.yaml")
	if len(kept.Kept) > 0 {
		t.Errorf("kept %v", kept.Kept)
	}
}

// TestTokensOfAHalfMadeCluster holds that a cluster is none of an administrator's until it has given out a kubeconfig.
func TestTokensOfAHalfMadeCluster(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Several)
	for _, args := range [][]string{{"token", "list"}, {"token", "create"}} {
		m.Run(args...).Refused(t, exit.NotFound, `no cluster in "DATA"`,
			"bring one up with `mullion up`, or name its folder with --data-dir")
	}
}

// TestTokenForWindows prints the line of PowerShell with which a Windows Server joins, and makes no token where there
// is no agent to join with.
func TestTokenForWindows(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Several)
	kept := m.ServeSecrets()
	if _, err := pki.Ensure(filepath.Join(m.Paths.Data, "pki"), pki.SANs{}, time.Now()); err != nil {
		t.Fatal(err)
	}

	create := []string{"token", "create", ownToken, "--print-windows"}
	m.Run(create...).Has(t, exit.Requirement, "mullion: read the agent for Windows: ", "→ `make agent` builds it")
	if len(kept.Kept) > 0 {
		t.Errorf("kept %v", kept.Kept)
	}

	agent := filepath.Join(m.Paths.Bin, "windows", "mullion-agent.exe")
	m.Write(agent, "MZ")
	got := m.Run(create...)
	hash := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(got.Out)
	sum := sha256.Sum256([]byte("MZ"))
	want := "if ((Get-FileHash .\\mullion-agent.exe).Hash -ne '" + strings.ToUpper(hex.EncodeToString(sum[:])) +
		"') { throw 'mullion-agent.exe is not the file of the cluster''s machine' }; .\\mullion-agent.exe join " +
		"192.0.2.10:6443 --token " + ownToken + " --discovery-token-ca-cert-hash " + hash + " --bundle .\n"
	if got.Out != want || hash == "" || got.Code != exit.OK ||
		!strings.HasPrefix(got.Err, "Copy BIN/windows/mullion-agent.exe ") {
		t.Errorf("exit code %d, printed\n%swant\n%ssaid\n%s", got.Code, got.Out, want, got.Err)
	}

	m.Run("token", "create", "--print-windows", "--print-join-command").Refused(t, exit.Usage,
		"--print-join-command and --print-windows exclude each other",
		"the first is for a machine with Mullion, the second for a Windows Server")
}
