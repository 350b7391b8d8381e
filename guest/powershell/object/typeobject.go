package object

import (
	"cmp"
	"strings"
)

// TypeKind is the kind of types as values.
const TypeKind = "type"

// TypeObject returns a type as GetType returns it.
func TypeObject(name string) *Object {
	short := name[strings.LastIndex(name, ".")+1:]
	if strings.Contains(name, "[[") || strings.Contains(name, "`") {
		short = name[strings.LastIndex(strings.Split(name, "`")[0], ".")+1:]
	}

	o := New(TypeKind).Set("IsPublic", true).Set("IsSerial", true).Set("Name", short).
		Set("BaseType", &Computed{Kind: "Property", Get: func(Value) (Value, error) {
			base := baseOf(name)
			if base == "" {
				return nil, nil
			}
			return TypeObject(base), nil
		}})

	o.Props["fullname"], o.Props["namespace"] = name, strings.TrimSuffix(strings.TrimSuffix(name, short), ".")
	o.Props["assemblyqualifiedname"] = name + ", mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089"
	o.Props["isenum"] = EnumOf(name) != nil
	o.Props["isarray"] = strings.HasSuffix(name, "[]")
	o.Props["isclass"] = !isValueType(name)
	o.Props["isvaluetype"] = isValueType(name)
	o.Props["underlyingsystemtype"] = &Computed{Kind: "Property", Get: func(of Value) (Value, error) { return of, nil }}
	o.Shown = func(*Object) string { return name }
	return o
}

// isValueType reports whether a type is one of values, not of references.
func isValueType(name string) bool {
	switch name {
	case "System.Int32", "System.Int64", "System.Double", "System.Boolean", "System.DateTime", "System.TimeSpan", "System.Guid",
		"System.Char", "System.Byte", "System.Decimal", "System.DateTimeOffset", "System.UInt32", "System.UInt64", "System.Single":
		return true
	}
	return EnumOf(name) != nil
}

// baseOf returns the type that a type is derived from, "" for System.Object.
func baseOf(name string) string {
	switch {
	case name == "System.Object":
		return ""
	case EnumOf(name) != nil:
		return "System.Enum"
	case isValueType(name):
		return "System.ValueType"
	case strings.HasSuffix(name, "[]"):
		return "System.Array"
	case name == "System.IO.FileInfo" || name == "System.IO.DirectoryInfo":
		return "System.IO.FileSystemInfo"
	}

	return cmp.Or(exceptions()[name], "System.Object")
}

// DerivesFrom reports whether a type is another one, or derived from it.
func DerivesFrom(name, from string) bool {
	for ; name != ""; name = baseOf(name) {
		if strings.EqualFold(name, from) {
			return true
		}
	}
	return false
}

// KindTypes returns the types of .NET whose objects the kinds of objects here stand for.
func KindTypes() map[string]string {
	return map[string]string{
		"certificate":          "System.Security.Cryptography.X509Certificates.X509Certificate2",
		"counter":              "Microsoft.PowerShell.Commands.GetCounter.PerformanceCounterSample",
		"counters":             "Microsoft.PowerShell.Commands.GetCounter.PerformanceCounterSampleSet",
		"command":              "System.Management.Automation.CommandInfo",
		"entry":                "System.Collections.DictionaryEntry",
		"event":                "System.Diagnostics.Eventing.Reader.EventLogRecord",
		"file event":           "System.IO.FileSystemEventArgs",
		"error event":          "System.IO.ErrorEventArgs",
		"elapsed":              "System.Timers.ElapsedEventArgs",
		"change":               "System.IO.WaitForChangedResult",
		"PS event":             "System.Management.Automation.PSEventArgs",
		"subscriber":           "System.Management.Automation.PSEventSubscriber",
		"feature":              "Microsoft.Windows.ServerManager.Commands.Feature",
		"feature change":       "Microsoft.Windows.ServerManager.Commands.FeatureOperationResult",
		"ping":                 `System.Management.ManagementObject#root\cimv2\Win32_PingStatus`,
		"update":               `System.Management.ManagementObject#root\cimv2\Win32_QuickFixEngineering`,
		"optional feature":     "Microsoft.Dism.Commands.AdvancedFeatureObject",
		"image change":         "Microsoft.Dism.Commands.ImageObject",
		"local group":          "Microsoft.PowerShell.Commands.LocalGroup",
		"local principal":      "Microsoft.PowerShell.Commands.LocalPrincipal",
		"local user":           "Microsoft.PowerShell.Commands.LocalUser",
		"history":              "Microsoft.PowerShell.Commands.HistoryInfo",
		"group":                "Microsoft.PowerShell.Commands.GroupInfo",
		"job":                  "System.Management.Automation.Job",
		"log entry":            "System.Diagnostics.EventLogEntry",
		"location":             "System.Management.Automation.PathInfo",
		"process":              "System.Diagnostics.Process",
		"drive of the session": "System.Management.Automation.PSDriveInfo",
		"selected line":        "Microsoft.PowerShell.Commands.MatchInfo",
		"context of a line":    "Microsoft.PowerShell.Commands.MatchInfoContext",
		TypeKind:               "System.RuntimeType",
		"module":               "System.Management.Automation.PSModuleInfo",
		"variable":             "System.Management.Automation.PSVariable",
		"service":              "System.ServiceProcess.ServiceController",
	}
}
