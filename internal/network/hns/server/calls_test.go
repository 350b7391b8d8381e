package server

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

var update = flag.Bool("update", false, "rewrite what calls answer in testdata")

// steps are the calls whose answers are in testdata/calls.txt: function, object and texts. A word before "=" names the
// object in the answer, and $word stands for its GUID.
var steps = []string{
	`net = HcnCreateNetwork - {"Name":"cbr0","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.1.0/24","Routes":[{"NextHop":"10.244.1.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`,
	`HcnCreateNetwork - {"Name":"cbr0","Type":"L2Bridge"}`,
	`HcnOpenNetwork $net`,
	`HcnQueryNetworkProperties $net {}`,
	`HcnModifyNetwork $net {"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"SetPolicy","Settings":{"Id":"a","PolicyType":"IPSET","Values":"10.0.0.1"}}]}}`,
	`HcnModifyNetwork $net {"ResourceType":"Subnet","RequestType":"Add"}`,
	`HcnEnumerateNetworks - {}`,
	`HcnEnumerateNetworks - {"Filter":"{\"Name\":\"cbr0\"}"}`,
	`HcnEnumerateNetworks - {"Filter":"{\"Name\":\"CBR0\"}"}`,
	`HcnEnumerateNetworks - {"Filter":"{\"Type\":\"l2bridge\"}"}`,
	`HcnEnumerateNetworks - {"Filter":"{\"Colour\":\"{}\"}"}`,
	`HcnEnumerateNetworks - {"Filter":"{\"Colour\":7}"}`,
	`HcnCloseNetwork $net`,
	`HcnRegisterNetworkCallback $net`,
	`HcnRegisterServiceCallback -`,
	`ep = HcnCreateEndpoint $net {"Name":"web","IpConfigurations":[{"IpAddress":"10.244.1.5"}]}`,
	`other = HcnCreateEndpoint $net {"Name":"other","Policies":[{"Type":"OutBoundNAT","Settings":{}}]}`,
	`HcnCreateEndpoint $ep {}`,
	`HcnCreateEndpoint - {}`,
	`HcnOpenEndpoint $ep`,
	`HcnModifyEndpoint $ep {"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":1000}}]}}`,
	`HcnModifyEndpoint $ep {"ResourceType":"Port","RequestType":"Add"}`,
	`HcnEnumerateEndpoints -`,
	`HcnEnumerateEndpoints - {"Filter":"{\"ID\":\"$ep\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":"{\"Name\":\"web\",\"HostComputeNetwork\":\"$net\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":"{\"VirtualNetwork\":\"$ep\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":"{\"MacAddress\":\"00-00-00-00-00-00\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":"{\"Colour\":\"{}\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":`,
	`ns = HcnCreateNamespace - {"Type":"Host"}`,
	`HcnCreateNamespace - {"Type":"Elsewhere"}`,
	`HcnOpenNamespace $ns`,
	`HcnModifyNamespace $ns {"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":"$ep"}}`,
	`HcnModifyNamespace $ns {"ResourceType":"Container","RequestType":"Add","Settings":{"ContainerId":"c1"}}`,
	`HcnModifyNamespace $ns {"ResourceType":"Port","RequestType":"Add"}`,
	`HcnQueryNamespaceProperties $ns {}`,
	`HcnQueryEndpointProperties $ep {}`,
	`HcnQueryEndpointStats $ep {}`,
	`HcnQueryEndpointStats $net {}`,
	`HcnEnumerateNamespaces - {"Filter":"{\"Type\":\"Host\"}"}`,
	`HcnEnumerateEndpoints - {"Filter":"{\"HostComputeNamespace\":\"{$ns}\"}"}`,
	`HcnCloseNamespace $ns`,
	`HcnDeleteNetwork $net`,
	`lb = HcnCreateLoadBalancer - {"HostComputeEndpoints":["$ep"],"FrontendVIPs":["10.96.0.1"],"SourceVIP":"10.244.1.9","PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":8080}]}`,
	`HcnCreateLoadBalancer - {"HostComputeEndpoints":["$ep"]}`,
	`HcnOpenLoadBalancer $lb`,
	`HcnModifyLoadBalancer $lb {"HostComputeEndpoints":["$ep","$other"],"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":8080}]}`,
	`HcnQueryLoadBalancerProperties $lb {}`,
	`HcnEnumerateLoadBalancers - {"Filter":"{\"SourceVIP\":\"10.244.1.9\"}"}`,
	`HcnEnumerateLoadBalancers - {}`,
	`HcnCloseLoadBalancer $lb`,
	`route = HcnCreateSdnRoute - {"HostComputeEndpoints":["$ep"],"Setting":[{"DestinationPrefix":"10.9.0.0/16","NextHop":"10.244.1.9"}]}`,
	`HcnCreateSdnRoute - {}`,
	`HcnOpenSdnRoute $route`,
	`HcnModifySdnRoute $route {"RequestType":"Update","Settings":{"HostComputeEndpoints":["$ep","$other"],"Setting":[{"DestinationPrefix":"10.8.0.0/16","NextHop":"10.244.1.9"}]}}`,
	`HcnQuerySdnRouteProperties $route {}`,
	`HcnEnumerateSdnRoutes - {"Filter":"{\"ID\":\"$route\"}"}`,
	`HcnEnumerateSdnRoutes - {"Filter":"{\"Name\":\"x\"}"}`,
	`HcnCloseSdnRoute $route`,
	`guest = HcnCreateGuestNetworkService - {"VirtualMachineId":"6b29fc40-ca47-1067-b31d-00dd010662da"}`,
	`HcnOpenGuestNetworkService $guest`,
	`HcnRegisterGuestNetworkServiceCallback $guest`,
	`HcnRegisterGuestNetworkServiceCallback $net`,
	`HcnModifyGuestNetworkService $guest {"ResourceType":"State","RequestType":"Update","Settings":{"State":"Synchronized"}}`,
	`HcnModifyGuestNetworkService $guest {"ResourceType":"Port","RequestType":"Add"}`,
	`HcnQueryGuestNetworkServiceProperties $guest {}`,
	`HcnEnumerateGuestNetworkServices - {"Filter":"{\"VirtualMachineId\":\"6B29FC40-CA47-1067-B31D-00DD010662DA\"}"}`,
	`HcnCloseGuestNetworkService $guest`,
	`port = HcnReserveGuestNetworkServicePort $guest {"Protocol":1,"Access":1,"Port":8081}`,
	`HcnReserveGuestNetworkServicePort $guest {"Protocol":1,"Access":1,"Port":8081}`,
	`HcnReserveGuestNetworkServicePort $net {"Protocol":1,"Access":1,"Port":8082}`,
	`HcnReserveGuestNetworkServicePortRange $guest {"PortCount":15}`,
	`HcnEnumerateGuestNetworkPortReservations -`,
	`HcnReleaseGuestNetworkServicePortReservationHandle $port`,
	`HcnReleaseGuestNetworkServicePortReservationHandle $port`,
	`HNSCall - GET /globals/version`,
	`HNSCall - get /Networks/`,
	`HNSCall - GET /networks/$net`,
	`HNSCall - PUT /networks/$net`,
	`net1 = HNSCall - POST /networks/ {"Name":"nat","Type":"nat","Subnets":[{"AddressPrefix":"10.7.0.0/24","GatewayAddress":"10.7.0.1"}]}`,
	`HNSCall - POST /networks/ {"ID":"$net1","Name":"again","Type":"nat"}`,
	`HNSCall - DELETE /networks/$net1`,
	`HNSCall - GET /endpoints/$ep`,
	`HNSCall - GET /Endpoints`,
	`HNSCall - GET /endpoints/$net`,
	`HNSCall - GET /endpoints/x`,
	`HNSCall - POST /endpoints/$other/attach {"SystemType":"Host"}`,
	`HNSCall - POST /endpoints/$other/detach {"SystemType":"Host"}`,
	`HNSCall - POST /endpoints/$other/refresh {}`,
	`ep1 = HNSCall - POST /endpoints/ {"VirtualNetwork":"$net","IPAddress":"10.244.1.7"}`,
	`HNSCall - DELETE /endpoints/$ep1`,
	`HNSCall - GET /endpointstats/$ep`,
	`HNSCall - GET //endpointstats/$ep/`,
	`HNSCall - GET /endpointstats/$net`,
	`HNSCall - GET /endpointstats/`,
	`HNSCall - GET /endpointstats`,
	`HNSCall - GET /EndpointStats/$ep`,
	`HNSCall - POST /endpointstats/$ep {}`,
	`HNSCall - GET /namespaces`,
	`ns1 = HNSCall - POST /namespaces {"IsDefault":false}`,
	`HNSCall - PUT /namespaces {}`,
	`HNSCall - POST /namespaces/$ns1/addresource {"Type":"Container","Data":{"Id":"c2"}}`,
	`HNSCall - DELETE /namespaces/$ns1`,
	`HNSCall - GET /policylists/`,
	`list = HNSCall - POST /policylists {"References":["/endpoints/$ep"],"Policies":[{"Type":"ELB","VIPs":["10.96.0.2"],"Protocol":6,"InternalPort":80,"ExternalPort":80}]}`,
	`HNSCall - GET /policylists/$list`,
	`HNSCall - DELETE /policylists/$list`,
	`HNSCall - PUT /policylists/$route {}`,
	`HNSCall - GET /accelnet`,
	`HNSCall - GET /`,
	`HNSCall -`,
	`HcnDeleteSdnRoute $route`,
	`HcnDeleteLoadBalancer $lb`,
	`HcnDeleteEndpoint $ep`,
	`HcnCloseEndpoint $ep`,
	`HcnDeleteNamespace $ns`,
	`HcnDeleteNamespace $net`,
	`HcnDeleteGuestNetworkService $guest`,
	`HcnEnumerateGuestNetworkPortReservations -`,
	`HcnDeleteNetwork $net`,
	`HcnQueryNetworkProperties $net {}`,
}

// strangers are names that are no function's, some of them similar to one.
var strangers = []string{
	"", "Hcn", "HcnFly", "hcnOpenNetwork", "HcnOpenNetworks", "HcnOpenNetworkProperties", "HcnQueryNetwork",
	"HcnEnumerateNetwork", "HcnEnumerateNamespace", "HcnReserveNetworkPort", "HcnRegisterEndpointCallback",
	"HcnReserveHostNetworkServicePort", "HcnQueryNetworkStats", "hnscall", "HNSCall2", "HcsCreateComputeSystem",
}

// told is a service whose answers are written down.
type told struct {
	*Service
	state    *[]byte
	peer     *session
	ids      map[string]string // of the objects that the steps name
	watching []string          // the calls by which somebody watches; watchers has what they are told
	watchers map[string]*watcher
}

func newTold(t *testing.T) *told {
	t.Helper()
	n, state := 0, []byte(nil)
	s, err := Open(t.Context(), Config{
		Model: hns.Config{
			Version:  wire.Version{Major: 15, Minor: 5},
			Adapters: []string{"Ethernet"},
			NewID:    func() string { n++; return fmt.Sprintf("00000000-0000-0000-0000-%012x", n) },
		},
		Store:      memory{&state},
		DataPlane:  &dataplane.Fake{},
		Log:        slog.New(slog.DiscardHandler),
		Generation: nowhere{},
	})
	if err != nil {
		t.Fatal(err)
	}

	return &told{
		Service:  s,
		state:    &state,
		peer:     &session{},
		ids:      map[string]string{},
		watchers: map[string]*watcher{},
	}
}

// nowhere is a file for generations that nobody reads.
type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

var (
	variable = regexp.MustCompile(`\$[a-z0-9]+`)
	firstID  = regexp.MustCompile(`"ID":"([^"]+)"`)
)

// step makes a call of steps and writes down the answer.
func (s *told) step(t *testing.T, w io.Writer, line string) {
	t.Helper()
	line = variable.ReplaceAllStringFunc(line, func(name string) string { return s.ids[name[1:]] })
	name, call, named := strings.Cut(line, " = ")
	if !named {
		name, call = "", line
	}

	words := strings.SplitN(call, " ", 3)
	fields := [][]byte{[]byte(words[0]), nil, nil}
	if words[1] != "-" {
		fields[1] = encodeGUID(words[1])
	}

	if len(words) > 2 {
		texts := []string{words[2]}
		if words[0] == "HNSCall" {
			texts = strings.SplitN(words[2], " ", 3)
		}
		for _, text := range texts {
			fields = append(fields, encodeText(text))
		}
	}

	frame, events := s.answer(t.Context(), s.peer, fields, true)
	if events != nil {
		s.watching = append(s.watching, call)
		s.watchers[call] = events
	}
	fmt.Fprintln(w, call)
	s.write(t, w, words[0], name, frame)
}

// fieldsOf takes a whole frame apart.
func fieldsOf(frame []byte) [][]byte {
	var fields [][]byte
	for rest := frame[4:]; len(rest) > 0; {
		size := binary.LittleEndian.Uint32(rest)
		fields, rest = append(fields, rest[4:4+size]), rest[4+size:]
	}
	return fields
}

// write writes an answer down, and stores the GUID in it under a name.
func (s *told) write(t *testing.T, w io.Writer, function, name string, frame []byte) {
	t.Helper()
	fields := fieldsOf(frame)
	object, err := decodeGUID(fields[1])
	if err != nil {
		t.Fatal(err)
	}

	s.ids[name] = object
	fmt.Fprintf(w, "  0x%08x %s\n", binary.LittleEndian.Uint32(fields[0]), object)
	if strings.Contains(function, "Port") {
		fmt.Fprintf(w, "  %x\n", fields[2])
		fields[2] = nil
	}

	for _, f := range fields[2:4] {
		text, err := decodeText(f)
		if err != nil {
			t.Fatal(err)
		}
		if text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}

		if found := firstID.FindStringSubmatch(text); found != nil && function == "HNSCall" {
			s.ids[name] = found[1]
		}
	}

	for i, f := range fields[4:] { // the first is the generation, a random number
		if i > 0 {
			id, err := decodeGUID(f[:16])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(w, "  copy %s %s\n", id, f[16:])
		}
	}
}

// golden compares with a file of testdata; with -update it rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestCalls compares with goldens: what a short sequence of all calls answers, byte by byte, with the copies that go
// with the answers; what is on disk afterwards; and what those who watch were told.
func TestCalls(t *testing.T) {
	s := newTold(t)
	var b strings.Builder
	for _, line := range steps {
		s.step(t, &b, line)
	}

	fmt.Fprintf(&b, "\nstate\n%s", *s.state)
	s.mu.Lock()
	s.disconnectWatchers()
	s.mu.Unlock()
	for _, call := range s.watching {
		fmt.Fprintf(&b, "\nevents of %s\n", call)
		for e := range s.watchers[call].events {
			fmt.Fprintf(&b, "  0x%02x %s %s\n", uint32(e.Type), e.Object, e.Text)
		}
	}

	golden(t, "calls.txt", b.String())
}

// exports returns the functions of the libraries of HNS.
func exports(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, library := range []string{"computenetwork", "vmcompute"} {
		f, err := os.Open(filepath.Join("../../../../guest/c", library, library+".def"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		for lines := bufio.NewScanner(f); lines.Scan(); {
			name := strings.TrimSpace(lines.Text())
			if strings.HasPrefix(lines.Text(), " ") && !strings.Contains(name, "=") {
				all = append(all, name)
			}
		}
	}

	return all
}

// withObjects returns a service that has an object of each kind, and the names of the objects.
func withObjects(t *testing.T) (*told, []string) {
	t.Helper()
	s, names := newTold(t), []string{"net", "ep", "ns", "lb", "route", "guest"}
	for _, line := range steps {
		if name, _, named := strings.Cut(line, " = "); named && slices.Contains(names, name) {
			s.step(t, io.Discard, line)
		}
	}
	return s, names
}

// TestStateOfAllKinds compares the saved state of one object of each kind with a golden, and checks that a service that
// loads it has the same objects.
func TestStateOfAllKinds(t *testing.T) {
	s, _ := withObjects(t)
	for range 2 {
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		golden(t, "state.txt", string(*s.state))
	}
}

// code returns the result of a call of a function for an object: as a program gets it, or within the process.
func (s *told) code(t *testing.T, function, object string, within bool) wire.HRESULT {
	t.Helper()
	if within {
		_, err := s.Call(t.Context(), hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{"{}"},
		})
		if err != nil {
			return hresult(err)
		}

		return wire.OK
	}

	fields := [][]byte{[]byte(function), guidOrNone(object), nil, encodeText("{}")}
	frame, _ := s.answer(t.Context(), s.peer, fields, false)
	return wire.HRESULT(binary.LittleEndian.Uint32(fieldsOf(frame)[0]))
}

// TestCallsOfObjects compares what each exported function, and names that are no function's, answer for no object, for
// an object that does not exist, and for one of each kind.
func TestCallsOfObjects(t *testing.T) {
	var b strings.Builder
	for _, function := range append(exports(t), strangers...) {
		fmt.Fprintf(&b, "%q\n", function)
		for _, within := range []bool{false, true} {
			fmt.Fprintf(&b, "  within the process %v:", within)
			_, names := withObjects(t)
			for _, name := range append([]string{"nothing", "unknown"}, names...) {
				s, _ := withObjects(t)
				s.ids["unknown"] = "11111111-2222-3333-4444-555555555555"
				fmt.Fprintf(&b, " %s %08x", name, uint32(s.code(t, function, s.ids[name], within)))
			}
			b.WriteByte('\n')
		}
	}

	golden(t, "objects.txt", b.String())
}

// TestTableIsCarriedOut checks that every call of the table, and every path of HNSCall in the support table, is carried
// out, unless the table says that it is not.
func TestTableIsCarriedOut(t *testing.T) {
	for name, c := range hns.Calls() {
		s, _ := withObjects(t)
		of := map[hns.Kind]string{
			hns.Networks: "net", hns.Endpoints: "ep", hns.Namespaces: "ns", hns.LoadBalancers: "lb",
			hns.SdnRoutes: "route", hns.GuestNetworkServices: "guest",
		}
		want := c.Operation != hns.InLibrary && c.Operation != hns.NotExported
		if code := s.code(t, name, s.ids[of[c.Kind]], false); (code != wire.ENotImpl) != want {
			t.Errorf("%s, operation %q: 0x%08x", name, c.Operation, uint32(code))
		}
	}

	s, _ := withObjects(t)
	for _, row := range hns.SupportRows() {
		path, ok := strings.CutPrefix(row.Name, "HNSCall ")
		if !ok {
			continue
		}
		reply, err := s.Call(t.Context(), hns.Request{Function: "HNSCall", Text: []string{"GET", path + "/", ""}})
		if err != nil {
			t.Fatal(err)
		}

		if not := strings.Contains(reply.Text, `"Not implemented`); not != (row.Level == support.Not) {
			t.Errorf("%s, %s: %s", row.Name, row.Level, reply.Text)
		}
	}
}
