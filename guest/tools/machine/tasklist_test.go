package machine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTasklist(t *testing.T) {
	w := &fake{tasks: []Task{{
		PID:    4,
		Image:  "System",
		Memory: 8 << 10,
	}, {PID: 3120, Session: 1, Image: "a-name-that-is-longer-than-a-column.exe", Memory: 1234 << 20}}}
	w.services = map[uint32][]string{4: {"BrokerInfrastructure", "DcomLaunch", "PlugPlay", "Power"}}

	const header = "\nImage Name                     PID Session Name        Session#    Mem Usage\n" +
		"========================= ======== ================ =========== ============\n"
	const first = "System                           4 Services                   0          8 K\n"
	const second = "a-name-that-is-longer-tha     3120 Console                    1  1,263,616 K\n"
	const none = "INFO: No tasks are running which match the specified criteria.\n"
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"all", nil, result{Out: header + first + second}},
		{"image", []string{"/FI", "imagename eq SYS*"}, result{Out: header + first}},
		{"not_image", []string{"/fi", "IMAGENAME ne system", "/nh"}, result{Out: "\n" + second}},
		{"both", []string{"/fi", "pid gt 4", "/fi", "MEMUSAGE lt 10"}, result{Out: none}},
		{"services", []string{"/svc"}, result{Out: "\nImage Name                     PID Services\n" +
			"========================= ======== ============================================\n" +
			"System                           4 BrokerInfrastructure, DcomLaunch, PlugPlay,\n" +
			"                                   Power\n" +
			"a-name-that-is-longer-tha     3120 N/A\n"}},
		{"services_csv", []string{"/SVC", "/fo", "csv", "/fi", "pid eq 4"}, result{
			Out: `"Image Name","PID","Services"` + "\n" + `"System","4","BrokerInfrastructure,DcomLaunch,PlugPlay,Power"` + "\n",
		}},
		{"services_list", []string{"/svc", "/fo", "list", "/fi", "pid gt 4"}, result{
			Out: "\nImage Name:   a-name-that-is-longer-than-a-column.exe\nPID:          3120\nServices:     N/A\n",
		}},
		{"session", []string{"/fi", "session ge 1", "/nh"}, result{Out: "\n" + second}},
		{
			"csv",
			[]string{"/fo", "csv", "/nh", "/fi", "sessionname eq services"},
			result{Out: `"System","4","Services","0","8 K"` + "\n"},
		},
		{
			"list",
			[]string{"/fo", "LIST", "/fi", "pid le 4"},
			result{Out: "\nImage Name:   System\nPID:          4\nSession Name: Services\nSession#:     0\nMem Usage:    8 K\n"},
		},
		{
			"bad_filter",
			[]string{"/fi", "color eq red"},
			result{Code: 1, Err: "ERROR: The search filter cannot be recognized.\n"},
		},
		{"bad_number", []string{"/fi", "pid eq x"}, result{Code: 1, Err: "ERROR: The search filter cannot be recognized.\n"}},
		{"unknown", []string{"/m"}, result{Code: 1, Err: "ERROR: Invalid argument/option - '/m'.\nType \"TASKLIST /?\" for usage.\n"}},
		{"no_value", []string{"/fi"}, result{Code: 1, Err: "ERROR: Invalid syntax. Value expected for '/fi'.\nType \"TASKLIST /?\" for usage.\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, w, "", append([]string{"tasklist"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	w.err = errors.New("no snapshot")
	if got := run(t, w, "", "tasklist"); got.Code != 1 || got.Err != "ERROR: no snapshot\n" {
		t.Errorf("%+v", got)
	}
}
