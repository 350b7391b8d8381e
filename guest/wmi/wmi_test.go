package wmi

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	for in, want := range map[string]string{
		"20240506070809.123456+120": "2024-05-06T05:08:09.123456Z",
		"20240506070809.123456-060": "2024-05-06T08:08:09.123456Z",
		"20240506070809.522000+00":  "2024-05-06T07:08:09.522Z", // as Wine 8 writes it
		"********070809.522000+000": "",
		"20240506070809.522000*000": "",
		"20240506":                  "",
		"":                          "",
	} {
		got := ""
		if at, ok := ParseTime(in); ok {
			got = at.UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("ParseTime(%q) = %q, not %q", in, got, want)
		}
	}

	at := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.FixedZone("", -5400))
	if got, want := TimeText(at), "20240506070809.123456-090"; got != want {
		t.Errorf("TimeText is %q, not %q", got, want)
	}
}

// TestCorrect has what Wine's WMI says, and a machine of which more is known.
func TestCorrect(t *testing.T) {
	m := Machine{
		Product: "Windows Server 2022 Datacenter", UUID: "{ab-c}", User: `User Manager\ContainerUser`, Cores: 4,
		Adapters: map[int64]Adapter{7: {DHCP: false, Addressed: false}},
	}

	for _, tt := range []struct {
		class, name string
		wines, want any
	}{
		{"Win32_OperatingSystem", "Caption", "Microsoft Windows 10 Pro", "Microsoft Windows Server 2022 Datacenter"},
		{"win32_operatingsystem", "PRODUCTTYPE", int64(1), int64(3)},
		{"Win32_OperatingSystem", "BuildNumber", "20348", "20348"},
		{"Win32_ComputerSystem", "UserName", `VM\ContainerUser`, m.User},
		{"Win32_ComputerSystem", "DomainRole", int64(0), int64(2)},
		{"Win32_ComputerSystemProduct", "UUID", "none", "AB-C"},
		{"Win32_Processor", "NumberOfCores", int64(0), int64(4)},
		{"Win32_Processor", "NumberOfCores", int64(7536732), int64(4)}, // as of Wine 8 without /sys
		{"Win32_Processor", "NumberOfCores", int64(2), int64(2)},
		{"Win32_Process", "Caption", "a.exe", "a.exe"},
	} {
		o := Object{
			Class: tt.class,
			Names: []string{tt.name},
			Props: []any{tt.wines},
		}
		if Correct(o, m); o.Props[0] != tt.want {
			t.Errorf("%s.%s is %v, want %v", tt.class, tt.name, o.Props[0], tt.want)
		}

		known := o.Props[0]
		if Correct(o, Machine{}); tt.name != "DomainRole" && o.Props[0] != known {
			t.Errorf("%s.%s of a machine of which nothing is known is %v, not %v", tt.class, tt.name, o.Props[0], known)
		}
	}

	o := Object{
		Class: "Win32_NetworkAdapterConfiguration",
		Names: []string{"Index", "DHCPEnabled"},
		Props: []any{int64(7), true},
	}
	if Correct(o, m); o.Props[1] != false {
		t.Errorf("an adapter without DHCP has %v", o.Props[1])
	}

	if Correct(o, Machine{}); o.Value("nothing") != nil {
		t.Error("a property that is not there has a value")
	}
}
